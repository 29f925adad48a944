import { expect, test } from "bun:test";
import { editorFrom, runEditor } from "./editor.ts";

test("the editor is $VISUAL, then $EDITOR, then vi; without any, the fault says what to do", () => {
  expect(editorFrom({ VISUAL: "code --wait", EDITOR: "ed" })).toBe("code --wait");
  expect(editorFrom({ VISUAL: " ", EDITOR: "ed" })).toBe("ed");
  expect(() => editorFrom({ PATH: "/nowhere" })).toThrow("neither $VISUAL nor $EDITOR is set, and there is no vi");
});

test("the editor gets the file after its own arguments, and its exit code or signal is returned", async () => {
  const where = { env: { PATH: process.env["PATH"] }, cwd: import.meta.dir };
  expect(await runEditor(`test 'two words' = 'two words' -a -e`, "./editor.ts", where)).toBe(0);
  expect(await runEditor("test -d", "./editor.ts", where)).toBe(1);
  expect(await runEditor("kill -9 $$ #", "./editor.ts", where)).toBe("SIGKILL");
  expect(runEditor("test -e", "/not/here", where)).rejects.toThrow("/not/here is not on this machine");
});
