// Opens an address in the user's browser, without showing it to other users of the machine.
import { join } from "node:path";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { createProgramSearch, findProgram, trustedPath } from "../../../kit/process/trusted-programs.ts";
import type { CommandContext } from "../../parse/command.ts";

/**
 * Other users of the machine can read the arguments of programs, so the browser gets a private file that leads to the link.
 * Returns false if no browser can be started here.
 */
export async function openInBrowser(url: string, ctx: CommandContext, fileName: string): Promise<boolean> {
  const hasScreen = process.platform === "darwin" || Boolean(ctx.env["DISPLAY"] ?? ctx.env["WAYLAND_DISPLAY"]);
  if (!hasScreen || !ctx.out.isTty) return false;
  const search = createProgramSearch({ env: ctx.env, home: ctx.home, directories: [ctx.cwd, ctx.project] });
  const { path } = findProgram(process.platform === "darwin" ? "open" : "xdg-open", search);
  if (path === null) return false;
  const file = join(ctx.state, fileName);
  replaceFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${Bun.escapeHTML(url)}">\n`, {
    file: 0o600,
    directory: 0o700,
  });
  // The browser is no child of this process: one that was not running would keep the terminal busy.
  const starter = Bun.spawn(["/bin/sh", "-c", '"$@" >/dev/null 2>&1 &', "sh", path, file], {
    cwd: ctx.home,
    env: { ...ctx.env, PATH: trustedPath(search) },
    detached: true,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  return (await starter.exited) === 0;
}
