// The full screens that are measured: how each is given a conversation, and how it is started on it. No measuring here.
import { join } from "node:path";
import { buildSkein, pi as piContender, skein as skeinContender } from "./contenders.ts";
import { installPeers, peerPackages, peerPrograms } from "./peers.ts";
import { opencodeSession, opencodeSessionId, piSession } from "./tui-session.ts";

export type ScreenSite = { url: string; root: string; home: string; cwd: string };

export type Screen = {
  name: string;
  version: string;
  env: (seat: ScreenSite) => Record<string, string>;
  /** Puts a conversation of so many blocks where the program finds it. */
  seed: (seat: ScreenSite, blocks: number) => Promise<void>;
  command: (seat: ScreenSite) => string[];
};

const model = "claude-sonnet-4-5";
const seedFile = ({ root }: ScreenSite) => join(root, "session.jsonl");

const skein: Screen = {
  name: "skein",
  version: skeinContender.version,
  env: ({ url, home }) => skeinContender.env(url, home),
  seed: async (seat, blocks) => {
    await Bun.write(seedFile(seat), piSession(blocks, seat.cwd));
    await run(skein, seat, [skeinProgram(), "import", seedFile(seat), "--name", "bench"]);
  },
  command: () => [skeinProgram(), "tui", "bench", "-m", `anthropic/${model}`],
};

const pi: Screen = {
  name: "pi",
  version: piContender.version,
  env: ({ url, home }) => piContender.env(url, home),
  seed: async (seat, blocks) => {
    for (const [name, text] of Object.entries(piContender.files(seat.url))) await Bun.write(join(seat.home, name), text);
    await Bun.write(seedFile(seat), piSession(blocks, seat.cwd));
  },
  command: (seat) => [peerPrograms.node, peerPrograms.pi, "--session", seedFile(seat), "--model", `lab/${model}`],
};

const opencode: Screen = {
  name: "opencode",
  version: peerPackages.opencode.split("@").at(-1) ?? "",
  env: ({ url, home }) => ({
    ...Object.fromEntries(["CONFIG", "DATA", "STATE", "CACHE"].map((kind) => [`XDG_${kind}_HOME`, join(home, kind.toLowerCase())])),
    ...Object.fromEntries(
      ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"].map((what) => [`OPENCODE_DISABLE_${what}`, "1"]),
    ),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: `anthropic/${model}`,
      small_model: `anthropic/${model}`,
      autoupdate: false,
      share: "disabled",
      provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: "dummy" } } },
    }),
  }),
  seed: async (seat, blocks) => {
    await Bun.write(seedFile(seat), opencodeSession(blocks, seat.cwd));
    await run(opencode, seat, [peerPrograms.opencode, "import", seedFile(seat)]);
  },
  command: () => [peerPrograms.opencode, "--session", opencodeSessionId],
};

/** Built or installed where they are not yet. */
export async function readyScreens(names: readonly string[]): Promise<Screen[]> {
  const screens = [skein, pi, opencode].filter(({ name }) => names.includes(name));
  if (names.includes("skein")) await buildSkein();
  await installPeers((["pi", "opencode"] as const).filter((name) => names.includes(name)));
  return screens;
}

export function environmentOf(screen: Screen, seat: ScreenSite): Record<string, string> {
  const usual = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: seat.home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    USER: "bench",
    SHELL: "/bin/bash",
  };
  return { ...usual, ...screen.env(seat) };
}

function skeinProgram(): string {
  return skeinContender.command("")[0]!;
}

async function run(screen: Screen, seat: ScreenSite, command: string[]): Promise<void> {
  const child = Bun.spawn(command, {
    cwd: seat.cwd,
    env: environmentOf(screen, seat),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`${command.slice(0, 2).join(" ")}: ${err || out}`);
}
