import { expect, test } from "bun:test";
import { editorFrom, runEditor } from "./editor.ts";

test("the editor is $VISUAL, then $EDITOR, then vi; a missing editor is a fault", () => {
  expect(editorFrom({ VISUAL: "code --wait", EDITOR: "ed" })).toBe("code --wait");
  expect(editorFrom({ VISUAL: " ", EDITOR: "ed" })).toBe("ed");
  expect(() => editorFrom({ PATH: "/nowhere" })).toThrow("neither $VISUAL nor $EDITOR is set, and there is no vi");
});

test("the editor gets the file after its own arguments, and its exit code or signal is returned", async () => {
  const options = { env: { PATH: process.env["PATH"] }, cwd: import.meta.dir };
  expect(await runEditor(`test 'two words' = 'two words' -a -e`, "./editor.ts", options)).toBe(0);
  expect(await runEditor("test -d", "./editor.ts", options)).toBe(1);
  expect(await runEditor("kill -9 $$ #", "./editor.ts", options)).toBe("SIGKILL");
  expect(runEditor("test -e", "/not/here", options)).rejects.toThrow("/not/here is not on this machine");
});
