// Turns errors of the database and of the files beside it into Faults with a hint.
import { SQLiteError } from "bun:sqlite";
import { Fault, messageOf } from "../../protocol/api/error.ts";

/** Returns a Fault for an error that has a known cause, else the error itself. */
export function storeFault(error: unknown, path: string): unknown {
  if (error instanceof Fault) return error;
  const code = errorCode(error);
  const message = messageOf(error);
  if (diskFullCodes.has(code)) {
    return new Fault("store-full", `the disk is full: the store ${path} can't be written`, {
      hint: "free some space and run the command again; stored data is not lost",
      cause: error,
    });
  }
  if (isLocked(error)) return lockedFault(path, 5000, error);
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code) || permissionCodes.has(code)) {
    return new Fault("file-unwritable", `the store ${path} can't be opened or written: ${message}`, {
      hint: "check the owner and the permissions of the file and its directory, or set SKEIN_HOME",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_IOERR") && !damageCodes.test(code)) {
    return new Fault("file-unwritable", `the store ${path} can't be written: ${message} (${code})`, {
      hint: "check for a quota, a limit of file sizes or a failing disk; stored data is not lost",
      cause: error,
    });
  }
  if (error instanceof SQLiteError && damageCodes.test(code)) {
    return new Fault("store-broken", `the store ${path} is damaged: ${message}`, {
      hint: "move the file away to start with an empty store; the transcripts in .skein/sessions still hold every session",
      cause: error,
    });
  }
  return error;
}

/** For a lock that was not released, nor taken by anyone else, for `ms`. */
export function lockedFault(path: string, ms: number, cause?: unknown): Fault {
  return new Fault("store-busy", `the store ${path} was locked for ${ms / 1000} seconds, and no process wrote to it meanwhile`, {
    hint: "try again; if the store stays locked, look for a program that has the file open",
    cause,
  });
}

export function isLocked(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(errorCode(error));
}

/** SHMSIZE: on a full disk the index of the write-ahead log fails to grow first. */
const diskFullCodes = new Set(["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "ENOSPC", "EDQUOT"]);
const damageCodes = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/;
const permissionCodes = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EISDIR", "EEXIST", "ENOENT"]);

export function errorCode(error: unknown): string {
  if (typeof error !== "object" || error === null || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}
