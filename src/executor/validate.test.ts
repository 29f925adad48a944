import { expect, test } from "bun:test";
import { toolDefinition } from "../protocol/api/tool-table.ts";
import { validateInput } from "./validate.ts";

const [read, bash, edit] = [toolDefinition("read"), toolDefinition("bash"), toolDefinition("edit")];

test("valid input passes, and a number that was sent as text is converted", () => {
  expect(validateInput(read, { path: "a", offset: "12", limit: 3 }).input).toEqual({ path: "a", offset: 12, limit: 3 });
  expect(validateInput(bash, { command: "ls", timeout: "1.5" }).input).toEqual({ command: "ls", timeout: 1.5 });
  expect(validateInput(read, { path: "a", offset: null }).input).toEqual({ path: "a" });
});

test("invalid input is reported in one line that names the parameter", () => {
  const cases: [unknown, Parameters<typeof validateInput>[0], string][] = [
    [{}, read, 'read: "path" is missing'],
    [{ path: "a", old_text: "b" }, edit, 'edit: "new_text" is missing'],
    [{ path: 5 }, read, 'read: "path" must be a string, not 5'],
    [{ path: "a", offset: 1.5 }, read, 'read: "offset" must be an integer, not 1.5'],
    [{ path: "a", offset: "x" }, read, 'read: "offset" must be an integer, not "x"'],
    [{ path: "a", limit: [] }, read, 'read: "limit" must be an integer, not an array'],
    [{ command: "ls", timout: 5 }, bash, 'bash: unknown parameter "timout"; did you mean "timeout"?'],
    [{ command: "ls", zzz: 5 }, bash, 'bash: unknown parameter "zzz"; it takes command, timeout'],
    [{ command: null }, bash, 'bash: "command" must be a string, not null'],
    [["ls"], bash, "bash: the arguments must be an object"],
    [null, bash, "bash: the arguments must be an object"],
  ];
  for (const [input, definition, problem] of cases) {
    expect(validateInput(definition, input)).toEqual({ input: null, problem });
  }
  expect(validateInput(bash, JSON.parse('{"command":"ls","__proto__":1}')).problem).toContain('unknown parameter "__proto__"');
});
