// Errors of skein as JSON-RPC errors. The message has the hint too, because editors show only the message. The protocol
// expects one line.
import { RequestError } from "@agentclientprotocol/sdk";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault, messageOf, type FaultCode } from "../../protocol/api/error.ts";
import type { TurnError } from "../../protocol/api/error.ts";

export const rpcCodes = {
  authRequired: -32000,
  notFound: -32002,
  invalidRequest: -32600,
  invalidParams: -32602,
  internal: -32603,
  parse: -32700,
};

const codes: Partial<Record<FaultCode, number>> = {
  auth: rpcCodes.authRequired,
  "session-unknown": rpcCodes.notFound,
  "node-unknown": rpcCodes.notFound,
  "session-archived": rpcCodes.notFound,
  "session-busy": rpcCodes.invalidRequest,
  usage: rpcCodes.invalidParams,
  config: rpcCodes.invalidParams,
  "session-ambiguous": rpcCodes.invalidParams,
  "not-installed": rpcCodes.invalidParams,
  "model-api-only": rpcCodes.invalidParams,
  "too-long": rpcCodes.invalidParams,
};

const maxMessage = 2_000;

/** An error that is no fault is a bug, so it is logged with its stack. */
export function toRequestError(error: unknown, log: (line: string) => void): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof Fault)
    return new RequestError(codes[error.code] ?? rpcCodes.internal, withHint(error.message, error.hint), { code: error.code });
  log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return new RequestError(rpcCodes.internal, oneLine(messageOf(error), maxMessage));
}

/** The error of a turn that ended without an answer. */
export function turnFailure({ kind, message, hint }: TurnError): RequestError {
  return new RequestError(kind === "auth" ? rpcCodes.authRequired : rpcCodes.internal, withHint(message, hint), { code: kind });
}

export function invalidParams(message: string): RequestError {
  return new RequestError(rpcCodes.invalidParams, oneLine(message, maxMessage));
}

export function notFound(message: string): RequestError {
  return new RequestError(rpcCodes.notFound, oneLine(message, maxMessage));
}

function withHint(message: string, hint: string | undefined): string {
  return oneLine(hint === undefined ? message : `${message}; ${hint}`, maxMessage);
}
