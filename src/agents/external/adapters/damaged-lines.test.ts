// Lines of every CLI with a field missing or of another kind, cut short or repeated: a reader never throws, and a turn that
// was told as good stays readable around them.
import { describe, expect, test } from "bun:test";
import { eventsOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { Adapter } from "./adapter.ts";
import { loadAdapters } from "./index.ts";

const scenarios = ["new", "resume", "thinking", "parallel", "status-401", "status-500"];
const strangers: unknown[] = [undefined, null, 7, "", "text", true, [], {}, [null], { type: 7 }];

function linesOf(name: string): string[] {
  return scenarios.flatMap((scenario) =>
    recordingOf(name, scenario)
      .stdout.split("\n")
      .filter((line) => line !== ""),
  );
}

/** Every place in a value, by the keys that lead to it; of a list the first. */
function placesIn(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  const entries = Array.isArray(value) ? Object.entries(value).slice(0, 1) : Object.entries(value);
  return entries.flatMap(([key, inner]) => [[key], ...placesIn(inner).map((place) => [key, ...place])]);
}

function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

/** One of each shape. */
function* damaged(name: string): Generator<string> {
  const seen = new Set<string>();
  for (const line of linesOf(name)) {
    const value = JSON.parse(line) as Record<string, unknown>;
    for (const place of placesIn(value)) {
      const shape = `${String(value["type"])} ${JSON.stringify((value["event"] as { type?: unknown } | undefined)?.type)} ${place.join(".")}`;
      if (seen.has(shape)) continue;
      seen.add(shape);
      for (const stranger of strangers) yield JSON.stringify(replaced(value, place, stranger));
    }
  }
}

describe.each(await loadAdapters())("$name", (adapter: Adapter) => {
  const { name } = adapter;
  test("a missing field or one of another type does not throw", () => {
    const whole = linesOf(name);
    let count = 0;
    const reader = adapter.reader();
    for (const line of damaged(name)) {
      count += 1;
      // By itself, and in the middle of a turn.
      expect(() => adapter.reader().line(line)).not.toThrow();
      expect(() => [reader.line(whole[count % whole.length]!), reader.line(line), reader.quiet?.()]).not.toThrow();
    }
    expect(() => reader.end()).not.toThrow();
    expect(count).toBeGreaterThan(300);
  });

  test("garbage, shortened lines and an incomplete last line do not change the answer", () => {
    const { stdout } = recordingOf(name, "new");
    const lines = stdout.split("\n").filter((line) => line !== "");
    const spoiled = lines.flatMap((line) => [line.slice(0, Math.floor(line.length / 2)), "[1,2", "null", "{}", '"text"', line]).join("\n");
    const told = (text: string) => eventsOf(adapter, text).flatMap((event) => (event.type === "answer" ? event.parts : []));
    expect(told(`${spoiled}\n{"type":"`).filter(({ kind }) => kind === "text")).toEqual(told(stdout).filter(({ kind }) => kind === "text"));
  });
});
