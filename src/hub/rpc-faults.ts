// A fault on the wire and back: both sides throw the same one.
import { isRecord } from "../kit/text/json.ts";
import { rpcCodes, rpcFailure, type RpcError, type RpcReply } from "../kit/flow/rpc.ts";
import { Fault, messageOf, type FaultCode } from "../protocol/api/error.ts";

/** Everything that is a fault of ours, and no mistake in the talk itself. */
const faultNumber = -32000;

export function faultReply(error: unknown): RpcReply {
  return { ok: false, error: faultError(error) };
}

export function faultError(error: unknown): RpcError {
  const { code, hint } = error instanceof Fault ? error : { code: "internal", hint: undefined };
  return { code: faultNumber, message: messageOf(error), data: { code, ...(hint === undefined ? {} : { hint }) } };
}

/** A mistake in what was asked. */
export function badRequest(code: number, message: string, hint?: string): RpcReply {
  return rpcFailure(code, message, { code: "usage", ...(hint === undefined ? {} : { hint }) });
}

const codesOfTalk: Partial<Record<number, FaultCode>> = {
  [rpcCodes.closed]: "connection-lost",
  [rpcCodes.tooLarge]: "usage",
  [rpcCodes.tooMany]: "usage",
  [rpcCodes.noMethod]: "usage",
  [rpcCodes.badParams]: "usage",
  [rpcCodes.invalid]: "usage",
};

export function toFault({ code, message, data }: RpcError): Fault {
  const { code: named, hint } = isRecord(data) ? data : {};
  // A code that only a later version knows is passed on as it is.
  const known = typeof named === "string" ? (named as FaultCode) : (codesOfTalk[code] ?? "internal");
  return new Fault(known, message, typeof hint === "string" ? { hint } : {});
}

/** What came over a connection and must not be believed to be one. */
