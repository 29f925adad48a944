// Opens a file in the user's editor and waits for it to exit. The editor runs outside of the sandbox, so it is looked up only
// where tools can't write.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { findProgram, trustedPath, type ProgramSearch } from "../../kit/process/trusted-programs.ts";
import { Fault } from "../../protocol/api/error.ts";

type Environment = Record<string, string | undefined>;

type EditorOptions = { env: Environment; cwd: string; programs: ProgramSearch };

export function editorFrom({ env, cwd, programs }: EditorOptions): string {
  const command = [env["VISUAL"], env["EDITOR"]].find((value) => value !== undefined && value.trim() !== "") ?? "vi";
  // The command is text for a shell. Its first word is the program, unless it has quotes or variables.
  const [name = ""] = /^[\w@%+=:,./-]+(?=\s|$)/.exec(command.trim()) ?? [];
  const { path, refused } = findProgram(name.includes("/") ? resolve(cwd, name) : name, programs);
  if (path === null && refused !== null)
    throw new Fault("not-installed", `the editor ${refused.path} is not used: ${refused.reason}`, {
      hint: "export EDITOR with the absolute path of an editor that tools can't change",
    });
  if (path === null && command === "vi")
    throw new Fault("not-installed", "there is no editor: neither $VISUAL nor $EDITOR is set, and there is no vi", {
      hint: "export EDITOR=nano, or any other",
    });
  return command;
}

/** Runs the editor through the shell, because the command may have arguments and quotes. Returns its exit code or signal. */
export async function runEditor(command: string, file: string, { env, cwd, programs }: EditorOptions): Promise<number | string> {
  if (!existsSync(resolve(cwd, file))) throw new Fault("file-unreadable", `${file} is not on this machine`);
  const child = Bun.spawn(["/bin/sh", "-c", `${command} "$@"`, command, file], {
    cwd,
    env: { ...env, PATH: trustedPath(programs) },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  await child.exited;
  return child.signalCode ?? child.exitCode ?? "nothing";
}
