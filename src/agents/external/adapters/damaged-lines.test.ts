// Lines of every CLI with missing or wrong fields, shortened or repeated: a reader never throws, and
// the answer between them is still read.
import { describe, expect, test } from "bun:test";
import { eventsOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { Adapter } from "./adapter.ts";
import { loadAdapters } from "./index.ts";

const scenarios = ["new", "resume", "thinking", "parallel", "status-401", "status-500"];
const wrongValues: unknown[] = [undefined, null, 7, "", "text", true, [], {}, [null], { type: 7 }];

function linesOf(name: string): string[] {
  return scenarios.flatMap((scenario) =>
    recordingOf(name, scenario)
      .stdout.split("\n")
      .filter((line) => line !== ""),
  );
}

/** The path of keys to every field of a value. Only the first item of a list is included. */
function fieldPaths(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  const entries = Array.isArray(value) ? Object.entries(value).slice(0, 1) : Object.entries(value);
  return entries.flatMap(([key, inner]) => [[key], ...fieldPaths(inner).map((path) => [key, ...path])]);
}

function replaceField(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaceField(copy[key], rest, by);
  return copy;
}

/** One line for each field of each type of line, with each wrong value. */
function* damagedLines(name: string): Generator<string> {
  const visited = new Set<string>();
  for (const line of linesOf(name)) {
    const value = JSON.parse(line) as Record<string, unknown>;
    for (const path of fieldPaths(value)) {
      const shape = `${String(value["type"])} ${JSON.stringify((value["event"] as { type?: unknown } | undefined)?.type)} ${path.join(".")}`;
      if (visited.has(shape)) continue;
      visited.add(shape);
      for (const wrongValue of wrongValues) yield JSON.stringify(replaceField(value, path, wrongValue));
    }
  }
}

describe.each(await loadAdapters())("$name", (adapter: Adapter) => {
  const { name } = adapter;
  test("the reader does not throw for a line with a missing field or a field of another type", () => {
    const lines = linesOf(name);
    let count = 0;
    const reader = adapter.reader();
    for (const line of damagedLines(name)) {
      count += 1;
      // The line is read alone, and in the middle of a turn.
      expect(() => adapter.reader().line(line)).not.toThrow();
      expect(() => [reader.line(lines[count % lines.length]!), reader.line(line), reader.quiet?.()]).not.toThrow();
    }
    expect(() => reader.end()).not.toThrow();
    expect(count).toBeGreaterThan(300);
  });

  test("garbage, shortened lines and an incomplete last line do not change the answer", () => {
    const { stdout } = recordingOf(name, "new");
    const lines = stdout.split("\n").filter((line) => line !== "");
    const spoiled = lines.flatMap((line) => [line.slice(0, Math.floor(line.length / 2)), "[1,2", "null", "{}", '"text"', line]).join("\n");
    const answerParts = (text: string) => eventsOf(adapter, text).flatMap((event) => (event.type === "answer" ? event.parts : []));
    expect(answerParts(`${spoiled}\n{"type":"`).filter(({ kind }) => kind === "text")).toEqual(
      answerParts(stdout).filter(({ kind }) => kind === "text"),
    );
  });
});
