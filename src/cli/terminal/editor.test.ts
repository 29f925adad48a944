import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { editorFrom, runEditor } from "./editor.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-editor-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const programs = { path: "/usr/bin:/bin", untrusted: [] };
const cwd = import.meta.dir;

test("the editor is $VISUAL, then $EDITOR, then vi; a missing editor is a fault", () => {
  expect(editorFrom({ env: { VISUAL: "code --wait", EDITOR: "ed" }, cwd, programs })).toBe("code --wait");
  expect(editorFrom({ env: { VISUAL: " ", EDITOR: "ed" }, cwd, programs })).toBe("ed");
  const none = { path: "/nowhere", untrusted: [] };
  expect(() => editorFrom({ env: {}, cwd, programs: none })).toThrow("neither $VISUAL nor $EDITOR is set, and there is no vi");
});

test("the editor gets the file after its own arguments, and its exit code or signal is returned", async () => {
  const options = { env: {}, cwd, programs };
  expect(await runEditor(`test 'two words' = 'two words' -a -e`, "./editor.ts", options)).toBe(0);
  expect(await runEditor("test -d", "./editor.ts", options)).toBe(1);
  expect(await runEditor("kill -9 $$ #", "./editor.ts", options)).toBe("SIGKILL");
  expect(runEditor("test -e", "/not/here", options)).rejects.toThrow("/not/here is not on this machine");
});

test("an editor in a PATH directory of the project is neither chosen nor run, and one behind it is", async () => {
  const write = (directory: string, text: string) => {
    mkdirSync(join(root, directory), { recursive: true });
    writeFileSync(join(root, directory, "my-editor"), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  };
  write("project/bin", `touch '${root}/planted'`);
  const path = `bin:${join(root, "project/bin")}`;
  const only = { path: `${path}:/usr/bin:/bin`, untrusted: [join(root, "project")] };
  const options = { env: { PATH: path }, cwd: join(root, "project"), programs: only };
  for (const EDITOR of ["my-editor", "my-editor -w", "./bin/my-editor", join(root, "project/bin/my-editor")])
    expect(() => editorFrom({ ...options, env: { EDITOR } })).toThrow(`${join(root, "project/bin/my-editor")} is not used: it is in`);
  writeFileSync(join(root, "project", "plan"), "");
  expect(await runEditor("'my-editor'", "./plan", options)).toBe(127);

  write("trusted", `touch '${root}/edited'`);
  const both = { ...only, path: `${path}:${join(root, "trusted")}:/usr/bin:/bin` };
  expect(editorFrom({ ...options, env: { EDITOR: "my-editor" }, programs: both })).toBe("my-editor");
  expect(await runEditor("my-editor", "./plan", { ...options, programs: both })).toBe(0);
  expect([existsSync(join(root, "planted")), existsSync(join(root, "edited"))]).toEqual([false, true]);
});
