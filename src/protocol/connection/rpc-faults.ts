// Converts faults to JSON-RPC errors and back, so that both sides throw the same fault.
import { isRecord } from "../../kit/text/json.ts";
import { rpcCodes, rpcFailure, type RpcError, type RpcReply } from "../../kit/flow/rpc.ts";
import { Fault, messageOf, type FaultCode } from "../api/error.ts";

/** The JSON-RPC code of every fault. Errors of the protocol itself have their own codes. */
const faultRpcCode = -32000;

export function faultReply(error: unknown): RpcReply {
  return { ok: false, error: faultError(error) };
}

export function faultError(error: unknown): RpcError {
  const { code, hint } = error instanceof Fault ? error : { code: "internal", hint: undefined };
  return { code: faultRpcCode, message: messageOf(error), data: { code, ...(hint === undefined ? {} : { hint }) } };
}

/** The reply to a wrong request. */
export function badRequest(code: number, message: string, hint?: string): RpcReply {
  return rpcFailure(code, message, { code: "usage", ...(hint === undefined ? {} : { hint }) });
}

const protocolErrorCodes: Partial<Record<number, FaultCode>> = {
  [rpcCodes.closed]: "connection-lost",
  [rpcCodes.tooLarge]: "usage",
  [rpcCodes.tooMany]: "usage",
  [rpcCodes.noMethod]: "usage",
  [rpcCodes.badParams]: "usage",
  [rpcCodes.invalid]: "usage",
};

export function toFault({ code, message, data }: RpcError): Fault {
  const { code: faultCode, hint } = isRecord(data) ? data : {};
  // A code of a later version is passed on as it is.
  const resolved = typeof faultCode === "string" ? (faultCode as FaultCode) : (protocolErrorCodes[code] ?? "internal");
  return new Fault(resolved, message, typeof hint === "string" ? { hint } : {});
}
