// Installs a program from npm that only tests need, in an exact version, into its own folder below bench/peers.
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { installPeers, peerPrograms, peersDir } from "../../bench/peers.ts";

/** Returns the command that starts the program, with a Node that is new enough. */
export async function npmTool(name: string, version: string, file: string): Promise<string[]> {
  await installPeers([]);
  const folder = join(peersDir, name);
  const marker = join(folder, `${version.replaceAll("/", "+")}.installed`);
  if (!existsSync(marker)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await Bun.write(join(folder, "package.json"), '{ "private": true }\n');
    const command = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", version];
    const child = Bun.spawn(command, { cwd: folder, stdin: "ignore", stdout: "ignore", stderr: "inherit" });
    if ((await child.exited) !== 0) throw new Error(`npm did not install ${version}`);
    await Bun.write(marker, "");
  }
  return [peerPrograms.node, join(folder, "node_modules", file)];
}
