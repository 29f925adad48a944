// Tests of the user's key bindings: their spelling, the keys that they replace, and their lines in the help.
import { expect, test } from "bun:test";
import { Fault } from "../../protocol/api/error.ts";
import { checkBindings } from "./bindings.ts";
import { screenCommands } from "./commands.ts";
import { helpLines } from "./help.ts";
import { commandEverywhere, commandOfKey } from "./keymap.ts";

test("user bindings accept common spellings, and override the table", () => {
  const bindings = checkBindings({
    preset: "vi",
    "Ctrl+T": "fork",
    "Space  g": "model",
    J: "page-down",
    zz: "help",
    "Page Down": "none",
    "ctrl+pageup": "quit",
  });
  expect(bindings).toEqual({
    preset: "vi",
    own: { "ctrl+t": "fork", "space g": "model", J: "page-down", zz: "help", pagedown: "none", "ctrl+pageup": "quit" },
  });
  const commands = [
    commandOfKey(bindings, "J"),
    commandOfKey(bindings, "space g"),
    commandOfKey(bindings, "pagedown"),
    commandOfKey(bindings, "k"),
  ];
  expect(commands.map((command) => command?.name)).toEqual(["page-down", "model", undefined, "row-up"]);
});

test("only a binding that types nothing works while typing", () => {
  const bindings = checkBindings({ preset: "vi", "ctrl+t": "fork", J: "fork" });
  expect([commandEverywhere(bindings, "ctrl+t")?.name, commandEverywhere(bindings, "J"), commandEverywhere(bindings, "j")]).toEqual([
    "fork",
    undefined,
    undefined,
  ]);
});

test("the help shows the user's bindings", () => {
  const lines = Object.fromEntries(
    helpLines(checkBindings({ preset: "vi", j: "row-up", "Space g": "fork", f: "fork" })).map(([keys, summary]) => [summary, keys]),
  );
  expect([lines["one row down"], lines["one row up"], lines["start a new session from here"]]).toEqual([
    "Down",
    "j, k, Up",
    "f, Space g, Space f, :fork [name]",
  ]);
});

test("an unknown key or command is reported with the nearest name", () => {
  const faultOf = (keys: Record<string, string>) => {
    try {
      checkBindings({ preset: "vi", ...keys });
    } catch (error) {
      if (error instanceof Fault) return [error.code, error.message, error.hint];
      throw error;
    }
    return null;
  };
  expect(faultOf({ x: "frok" })).toEqual(["config", 'keys: "x" names the command "frok", which does not exist', 'did you mean "fork"?']);
  expect(faultOf({ pagedwn: "fork" })).toEqual(["config", 'keys: "pagedwn" is not a key', 'did you mean "pagedown"?']);
  for (const key of ["", "jk", "Space gg", "alt+x", "ctrl+"]) expect(faultOf({ [key]: "fork" })?.[1]).toBe(`keys: "${key}" is not a key`);
  for (const key of ["Escape", "Ctrl+C", "space"]) expect(faultOf({ [key]: "fork" })?.[1]).toContain("can't be bound");
  expect(screenCommands.map(({ name }) => name)).not.toContain("none");
});

test("the preset is a text, or an entry beside the user's keys, and the default is plain", () => {
  expect(checkBindings("vi")).toEqual({ preset: "vi", own: {} });
  expect(checkBindings("plain")).toEqual({ preset: "plain", own: {} });
  expect(checkBindings({ "ctrl+t": "sessions" })).toEqual({ preset: "plain", own: { "ctrl+t": "resume" } });
  expect(() => checkBindings({ preset: "vim" })).toThrow(
    new Fault("config", 'keys: there is no preset "vim"', { hint: 'did you mean "vi"?' }),
  );
});

test("a key that types text can't be bound in the plain preset", () => {
  for (const key of ["J", "gg", "Space g", "Enter"])
    expect(() => checkBindings({ [key]: "fork" })).toThrow(`keys: "${key}" types text, because the preset "plain" has no modes`);
});
