// Turns errors of Postgres and of the connection to it into Faults with a hint. No message contains the URL's password.
import { Fault, type FaultCode, messageOf } from "../../../protocol/api/error.ts";

type ServerError = Error & { code?: string; errno?: string; detail?: string };

/** SQLSTATEs that our own functions raise; the detail is what the message is about. */
const ownStates: Record<string, (error: ServerError) => Fault> = {
  SK001: ({ detail = "" }) =>
    new Fault("lease-lost", `this process no longer holds the lease of session ${detail}: it was released or another process took it`, {
      hint: "open the session again to continue from the stored nodes",
    }),
  SK002: ({ detail = "" }) => new Fault("internal", detail),
  SK003: ({ detail = "" }) =>
    new Fault("session-unknown", `there is no session ${detail}`, { hint: "`skein list` shows the sessions of this project" }),
  SK004: ({ detail = "" }) => new Fault("node-unknown", detail),
  SK005: ({ detail = "" }) => new Fault("pending-unknown", `the queued turn ${detail} has started or was withdrawn`),
  SK006: ({ detail = "" }) => new Fault("ask-closed", `the question ${detail} is not open any more`),
  SK007: ({ detail = "" }) => new Fault("session-exists", detail, { hint: "choose another name, or continue in that session" }),
};

/** The server answered that it stops, crashed, starts, has no connection left or ended a transaction that waited; or the connection broke. */
const lostStates = new Set(["57P01", "57P02", "57P03", "08000", "08003", "08006", "08001", "08004", "53300", "25P03"]);
const lostCodes = /^ERR_POSTGRES_(CONNECTION_(CLOSED|REFUSED|TIMEOUT|FAILED)|IDLE_TIMEOUT|LIFETIME_TIMEOUT)/;
/** The statement was rolled back, because two transactions waited for each other. */
const conflictStates = new Set(["40001", "40P01"]);

export function isConnectionLost(error: unknown): boolean {
  const { code = "", errno = "" } = error as ServerError;
  return lostCodes.test(code) || lostStates.has(errno);
}

export function isConflict(error: unknown): boolean {
  return conflictStates.has((error as ServerError).errno ?? "");
}

type KnownState = { states: RegExp; code: FaultCode; message: string; hint: string };

const knownStates: KnownState[] = [
  {
    states: /^(53100|53200)$/,
    code: "store-full",
    message: "is full: it has no space or memory left",
    hint: "free some space on the database's machine and run the command again; stored data is not lost",
  },
  {
    states: /^25006$/,
    code: "fleet-readonly",
    message: "is read-only: it is a standby, or default_transaction_read_only is on",
    hint: "let fleet.url point at the primary server; stored data is not lost",
  },
  {
    states: /^(3D000)$/,
    code: "fleet-unreachable",
    message: "does not exist",
    hint: "create it first, such as with `createdb`, then run `skein fleet setup`",
  },
  {
    states: /^28/,
    code: "fleet-unreachable",
    message: "refused the user or the password of fleet.url",
    hint: "check the user, the password and the server's pg_hba.conf",
  },
  {
    states: /^42501$/,
    code: "fleet-unreachable",
    message: "does not allow this user to do that",
    hint: "let the owner of the database run `skein fleet setup`, or grant the user the rights on schema skein",
  },
  {
    states: /^(3F000|42P01|42883|42703)$/,
    code: "fleet-missing",
    message: "has no skein schema, or one that was made only in part",
    hint: "create it: skein fleet setup",
  },
];

/** Returns a Fault for an error that has a known cause, else the error itself. `address` has no password. */
export function fleetFault(error: unknown, address: string): unknown {
  if (error instanceof Fault) return error;
  const { errno = "", code = "" } = error as ServerError;
  const own = ownStates[errno];
  if (own !== undefined) return own(error as ServerError);
  const known = knownStates.find(({ states }) => states.test(errno));
  if (known !== undefined)
    return new Fault(known.code, `the fleet's database ${address} ${known.message}`, { hint: known.hint, cause: error });
  if (isConnectionLost(error)) {
    return new Fault("fleet-unreachable", `the fleet's database ${address} can't be reached: ${messageOf(error)}`, {
      hint: "check fleet.url, the network and the server; stored data is not lost",
      cause: error,
    });
  }
  if (/TLS|SSL|CERT/i.test(code)) {
    return new Fault("fleet-insecure", `the server of the fleet's database ${address} could not prove its name: ${messageOf(error)}`, {
      hint: "check its certificate, or name its certificate authority with sslrootcert=<file> in fleet.url",
      cause: error,
    });
  }
  return error;
}
