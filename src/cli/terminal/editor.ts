// A file in the person's own editor: which program that is, and how it ended. Knows nothing of what the file is for.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Fault } from "../../protocol/api/error.ts";

export function editorFrom(env: Record<string, string | undefined>): string {
  const named = [env["VISUAL"], env["EDITOR"]].find((words) => words !== undefined && words.trim() !== "");
  if (named !== undefined) return named;
  if (Bun.which("vi", { PATH: env["PATH"] ?? "" }) !== null) return "vi";
  throw new Fault("not-installed", "there is no editor: neither $VISUAL nor $EDITOR is set, and there is no vi", {
    hint: "export EDITOR=nano, or any other",
  });
}

/** By the shell, as it may have words and quotes of its own. Its exit code, or the signal that ended it. */
export async function runEditor(
  command: string,
  file: string,
  { env, cwd }: { env: Record<string, string | undefined>; cwd: string },
): Promise<number | string> {
  if (!existsSync(resolve(cwd, file))) throw new Fault("file-unreadable", `${file} is not on this machine`);
  const child = Bun.spawn(["/bin/sh", "-c", `${command} "$@"`, command, file], {
    cwd,
    env,
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  await child.exited;
  return child.signalCode ?? child.exitCode ?? "nothing";
}
