// What a failure of the database, or of a file beside it, means to a person.
import { SQLiteError } from "bun:sqlite";
import { Fault, messageOf } from "../../protocol/api/error.ts";

/** Says what a failure of the database or of a file beside it means; faults pass through. */
export function storeFault(error: unknown, path: string): unknown {
  if (error instanceof Fault) return error;
  const code = errorCode(error);
  const told = messageOf(error);
  if (fullCodes.has(code)) {
    return new Fault("store-full", `The disk is full: the store ${path} can't be written.`, {
      hint: "Free some space and run the command again; nothing that was recorded is lost.",
      cause: error,
    });
  }
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new Fault("store-busy", `The store ${path} was locked by another process for more than 5 seconds.`, {
      hint: "Try again; if it stays locked, look for a program that holds the file open.",
      cause: error,
    });
  }
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code) || closedCodes.has(code)) {
    return new Fault("file-unwritable", `The store ${path} can't be opened or written: ${told}`, {
      hint: "Check the owner and the permissions of the file and its directory, or set SKEIN_HOME.",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_IOERR") && !brokenCodes.test(code)) {
    return new Fault("file-unwritable", `The store ${path} can't be written: ${told} (${code})`, {
      hint: "Look for a quota, a limit of file sizes or a failing disk; nothing that was recorded is lost.",
      cause: error,
    });
  }
  if (error instanceof SQLiteError && brokenCodes.test(code)) {
    return new Fault("store-broken", `The store ${path} is damaged: ${told}`, {
      hint: "Move the file away to start with an empty store; the transcripts in .skein/sessions still hold every session.",
      cause: error,
    });
  }
  return error;
}

/** The index of the log can't grow on a full disk, and is the first to notice. */
const fullCodes = new Set(["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "ENOSPC", "EDQUOT"]);
const brokenCodes = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/;
const closedCodes = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EISDIR", "EEXIST", "ENOENT"]);

export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}
