// The launcher in JavaScript: sandboxes its own process and then executes the requested program. It is used where the
// native launcher can't run. If a call of the list fails, it ends with one line that says which, and starts nothing.
import { ptr } from "bun:ffi";
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../protocol/api/error.ts";
import { type LaunchRequest, launchVariable } from "../launch-request.ts";
import { argumentKind, type CallList, onErrorCode, operation } from "./call-list.ts";
import { openRawCalls, type RawCalls } from "./raw-call.ts";
import { pathRule } from "./landlock.ts";
import { createSandboxCalls } from "./sandbox-calls.ts";
import { currentDirectory, openRealHow } from "./open-real.ts";
import { callNumber, errorName } from "./syscalls.ts";

const missing = -2;
const existing = -17;
const invalid = -22;
const executeProgram = { x64: 59, arm64: 221 };

/** Returns only if it failed, with the reason. */
export function launch({ [launchVariable]: text = "", ...env }: Record<string, string | undefined>): string {
  try {
    const request = JSON.parse(text) as LaunchRequest;
    const calls = openRawCalls();
    // Ignored signals would stay ignored in the program that is executed.
    for (const ignored of [13, 25]) calls.resetSignal(ignored);
    return runList(createSandboxCalls(request, { createsNamespaces: false }), calls, () => execProgram(calls, request.command, env));
  } catch (error) {
    return messageOf(error);
  }
}

/** Does the same as the loop in native/launcher.c. */
function runList(list: CallList, calls: RawCalls, execute: () => number): string {
  const data = Buffer.from(list.dataBytes());
  const base = ptr(data);
  const results = new Map<number, number>();
  for (const row of list.rows) {
    const values = row.values.map((value, index) => {
      if (row.kinds[index] === argumentKind.pointer) return base + value;
      return row.kinds[index] === argumentKind.result ? (results.get(value) ?? -1) : value;
    });
    const hasFailed = (slot: number) => (results.get(slot) ?? -1) < 0;
    const isImpossible = row.values.some((slot, index) => row.kinds[index] === argumentKind.result && hasFailed(slot));
    const isNeedless = row.values.some((slot, index) => row.kinds[index] === argumentKind.failure && !hasFailed(slot));
    const isSkipped = isImpossible || isNeedless;
    const skippedResult = isImpossible ? -1 : 0;
    const result = isSkipped ? skippedResult : runRow(row.operation, values, { calls, data, base, execute });
    results.set(row.slot, result);
    const isIgnored =
      row.onError === onErrorCode.ignore ||
      (row.onError === onErrorCode["ignore-missing"] && result === missing) ||
      (row.onError === onErrorCode["ignore-existing"] && result === existing);
    if (result < 0 && !isSkipped && !isIgnored) return `${textAt(data, row.message)}: ${errorName(result)}`;
  }
  return "the list of system calls executes no program";
}

type RowContext = { calls: RawCalls; data: Buffer; base: number; execute: () => number };

function runRow(number: number, values: number[], { calls, data, base, execute }: RowContext): number {
  const [place = 0, value = 0] = values;
  if (number === operation.execute) return execute();
  if (number === operation.allowEntries) return allowEntries(values as AllowArguments, { calls, data, base });
  if (number === operation.storePointer) data.writeBigUInt64LE(BigInt(value), place - base);
  else if (number === operation.storeResult) data.writeInt32LE(value, place - base);
  else return calls.call(number, values);
  return 0;
}

type AllowArguments = [ruleset: number, directory: number, names: number, forDirectory: number, forFile: number];

/** Does the same as native/launcher.c: a directory or an entry that can't be opened is not allowed. */
function allowEntries(args: AllowArguments, { calls, data, base }: Omit<RowContext, "execute">): number {
  const [ruleset, directory, names, forDirectory, forFile] = args;
  const path = textAt(data, directory - base);
  const except = new Set(namesAt(data, names - base));
  for (const name of listNames(path).filter((entry) => !except.has(entry))) {
    const entry = Buffer.from(`${join(path, name)}\0`);
    const how = new BigUint64Array(openRealHow);
    const file = calls.call(callNumber("openat2"), [currentDirectory, ptr(entry), ptr(how), 24]);
    if (file < 0) continue;
    for (const rule of [forDirectory, forFile]) data.writeInt32LE(file, rule - base + 8);
    const add = (rule: number) => calls.call(callNumber("landlockAdd"), [ruleset, pathRule, rule, 0]);
    const first = add(forDirectory);
    const result = first === invalid ? add(forFile) : first;
    calls.call(callNumber("close"), [file]);
    if (result < 0) return result;
  }
  return 0;
}

/** The names end with an empty one. */
function namesAt(data: Buffer, offset: number): string[] {
  const name = textAt(data, offset);
  return name === "" ? [] : [name, ...namesAt(data, offset + Buffer.byteLength(name) + 1)];
}

/** Follows no link. Empty if the path is no directory or can't be read. */
function listNames(path: string): string[] {
  try {
    return realpathSync(path) === path ? readdirSync(path) : [];
  } catch {
    return [];
  }
}

function textAt(data: Buffer, offset: number): string {
  return data.toString("utf8", offset, data.indexOf(0, offset));
}

function execProgram({ call }: RawCalls, command: string[], env: Record<string, string | undefined>): number {
  const args = cStrings(command);
  const environment = cStrings(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])));
  return call(executeProgram[process.arch as "x64" | "arm64"], [ptr(args.texts[0]!), ptr(args.pointers), ptr(environment.pointers)]);
}

/** A null-terminated array of pointers, and the texts that the caller must keep alive as long as it is used. */
function cStrings(values: string[]): { pointers: BigUint64Array; texts: Uint8Array[] } {
  const texts = values.map((value) => Buffer.from(`${value}\0`));
  return { pointers: new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n]), texts };
}
