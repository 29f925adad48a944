// Installs tools that drive other agents' CLIs in exact versions from npm, beside the peers. They are no dependency of skein.
import { join } from "node:path";
import { installPackages, peerPrograms, peersDir } from "../peers.ts";

export const rivalPackages = {
  acpx: ["acpx@0.19.1", "@agentclientprotocol/claude-agent-acp@0.99.1", "@agentclientprotocol/codex-acp@2.6.0"],
  goose: ["@aaif/goose@0.20.1"],
  ralphy: ["ralphy-cli@4.7.2"],
  takt: ["takt@0.39.0"],
};

export type RivalName = keyof typeof rivalPackages;

const programs: Record<RivalName, string> = {
  acpx: "node_modules/.bin/acpx",
  goose: "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
  ralphy: "node_modules/.bin/ralphy",
  takt: "node_modules/.bin/takt",
};

export const rivalDir = (name: RivalName): string => join(peersDir, "rivals", name);
export const rivalProgram = (name: RivalName): string => join(rivalDir(name), programs[name]);

/** Directories for PATH: the scripts of the rivals need Node. */
export const nodeBin = join(peerPrograms.node, "..");

export async function installRivals(): Promise<void> {
  for (const name of Object.keys(rivalPackages) as RivalName[])
    await installPackages({ dir: rivalDir(name), specs: rivalPackages[name], program: rivalProgram(name) });
}
