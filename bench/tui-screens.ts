// The TUIs to measure: how each gets a conversation and is started with it. Measures nothing.
import { join } from "node:path";
import { buildSkein, earlierBuild, pi as piContender, skein as skeinContender, type Contender } from "./contenders.ts";
import { installPeers, peerPackages, peerPrograms } from "./peers.ts";
import { opencodeSession, opencodeSessionId, piSession } from "./tui-session.ts";

export type ScreenSite = { url: string; root: string; home: string; cwd: string };

export type Screen = {
  name: string;
  version: string;
  env: (site: ScreenSite) => Record<string, string>;
  /** Stores a conversation with that many blocks where the program finds it. */
  seed: (site: ScreenSite, blocks: number) => Promise<void>;
  command: (site: ScreenSite) => string[];
};

const model = "claude-sonnet-4-5";
const seedFile = ({ root }: ScreenSite) => join(root, "session.jsonl");

function skeinScreen(build: Contender): Screen {
  const program = build.command("")[0]!;
  const screen: Screen = {
    name: build.name,
    version: build.version,
    env: ({ url, home }) => build.env(url, home),
    seed: async (site, blocks) => {
      await Bun.write(seedFile(site), piSession(blocks, site.cwd));
      await run(screen, site, [program, "import", seedFile(site), "--name", "bench"]);
    },
    command: () => [program, "tui", "bench", "-m", `anthropic/${model}`],
  };
  return screen;
}

const pi: Screen = {
  name: "pi",
  version: piContender.version,
  env: ({ url, home }) => piContender.env(url, home),
  seed: async (site, blocks) => {
    for (const [name, text] of Object.entries(piContender.files(site.url))) await Bun.write(join(site.home, name), text);
    await Bun.write(seedFile(site), piSession(blocks, site.cwd));
  },
  command: (site) => [peerPrograms.node, peerPrograms.pi, "--session", seedFile(site), "--model", `lab/${model}`],
};

export const opencode: Screen = {
  name: "opencode",
  version: peerPackages.opencode.split("@").at(-1) ?? "",
  env: ({ url, home }) => ({
    ...Object.fromEntries(["CONFIG", "DATA", "STATE", "CACHE"].map((kind) => [`XDG_${kind}_HOME`, join(home, kind.toLowerCase())])),
    ...Object.fromEntries(
      ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"].map((feature) => [`OPENCODE_DISABLE_${feature}`, "1"]),
    ),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: `anthropic/${model}`,
      small_model: `anthropic/${model}`,
      autoupdate: false,
      share: "disabled",
      provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: "dummy" } } },
    }),
  }),
  seed: async (site, blocks) => {
    await Bun.write(seedFile(site), opencodeSession(blocks, site.cwd));
    await run(opencode, site, [peerPrograms.opencode, "import", seedFile(site)]);
  },
  command: () => [peerPrograms.opencode, "--session", opencodeSessionId],
};

/** Builds or installs missing programs. */
export async function readyScreens(names: readonly string[]): Promise<Screen[]> {
  const earlier = earlierBuild(process.argv);
  const screens = [skeinScreen(skeinContender), pi, opencode].filter(({ name }) => names.includes(name));
  if (names.includes("skein")) await buildSkein();
  await installPeers((["pi", "opencode"] as const).filter((name) => names.includes(name)));
  return earlier === null ? screens : [...screens, skeinScreen(earlier)];
}

export function environmentOf(screen: Screen, site: ScreenSite): Record<string, string> {
  const defaults = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: site.home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    USER: "bench",
    SHELL: "/bin/bash",
  };
  return { ...defaults, ...screen.env(site) };
}

async function run(screen: Screen, site: ScreenSite, command: string[]): Promise<void> {
  const child = Bun.spawn(command, {
    cwd: site.cwd,
    env: environmentOf(screen, site),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`${command.slice(0, 2).join(" ")}: ${err || out}`);
}
