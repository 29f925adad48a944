// Opens a file in the user's editor and waits for it to exit.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Fault } from "../../protocol/api/error.ts";

export function editorFrom(env: Record<string, string | undefined>): string {
  const command = [env["VISUAL"], env["EDITOR"]].find((value) => value !== undefined && value.trim() !== "");
  if (command !== undefined) return command;
  if (Bun.which("vi", { PATH: env["PATH"] ?? "" }) !== null) return "vi";
  throw new Fault("not-installed", "there is no editor: neither $VISUAL nor $EDITOR is set, and there is no vi", {
    hint: "export EDITOR=nano, or any other",
  });
}

/** Runs the editor through the shell, because the command may have arguments and quotes. Returns its exit code or signal. */
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
