// A program from npm that only a test needs, in an exact version, in a folder that is nobody's dependency.
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { installPeers, peerPrograms, peersDir } from "../../bench/peers.ts";

/** The words that start it, with a Node that is new enough for it. */
export async function npmTool(name: string, wanted: string, file: string): Promise<string[]> {
  await installPeers([]);
  const folder = join(peersDir, name);
  const marker = join(folder, `${wanted.replaceAll("/", "+")}.installed`);
  if (!existsSync(marker)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await Bun.write(join(folder, "package.json"), '{ "private": true }\n');
    const words = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", wanted];
    const child = Bun.spawn(words, { cwd: folder, stdin: "ignore", stdout: "ignore", stderr: "inherit" });
    if ((await child.exited) !== 0) throw new Error(`npm did not install ${wanted}`);
    await Bun.write(marker, "");
  }
  return [peerPrograms.node, join(folder, "node_modules", file)];
}
