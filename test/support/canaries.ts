// Writes recognisable keys into every variable and file where users keep keys, and searches for them in all output and files of
// skein. Neither the search nor a fake CLI has such a key among its arguments.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { environmentVariables } from "../../src/config/env.ts";
import { vendors } from "../../src/models/vendors.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export const canaryPattern = /loose-lips|sink-ships/;

/** Matches either half, so that a key that is cut in two is found too. */
const pattern = "loose[-]lips|sink[-]ships";

export function secret(name: string): string {
  return `loose-lips-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}-sink-ships`;
}

const otherVariables = [
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CODEX_API_KEY",
  "AWS_SECRET_ACCESS_KEY",
  "GITHUB_TOKEN",
  "NPM_TOKEN",
];

export const keyVariables = [
  ...new Set([
    ...environmentVariables.filter(({ group }) => group === "keys").map(({ name }) => name),
    ...vendors.flatMap((vendor) => vendor.keyVariables.map(({ name }) => name)),
    ...otherVariables,
  ]),
];

/** Files with the users' keys and the configuration of their agents. */
const paths =
  ".ssh/id_ed25519 .ssh/config .claude/.credentials.json .claude/settings.json .claude.json .codex/auth.json .codex/config.toml " +
  ".gemini/oauth_creds.json .gemini/settings.json .local/share/opencode/auth.json .config/opencode/opencode.json " +
  ".pi/agent/auth.json .pi/agent/models.json .aws/credentials .netrc .gnupg/secring.gpg .config/gh/hosts.yml";
export const keyFiles = paths.split(" ");

/** The formats of the CLIs, with a key. A sign-in is not used here, because the CLI may read its own sign-in. */
const shapes: Record<string, (key: string) => unknown> = {
  ".codex/auth.json": (key) => ({ OPENAI_API_KEY: key }),
  ".local/share/opencode/auth.json": (key) => ({ anthropic: { type: "api", key } }),
  ".pi/agent/auth.json": (key) => ({ anthropic: { type: "api_key", key } }),
};

/** Returns the variable whose key is sent to the agent's vendor. */
export function keyVariableOf(agent: string): string {
  return { codex: "CODEX_API_KEY", gemini: "GEMINI_API_KEY" }[agent] ?? "ANTHROPIC_API_KEY";
}

export type CanaryHome<Home extends TemporaryHome> = Home & {
  /** Returns excerpts of output and paths of files that contain a key and must not. */
  leaks: () => Promise<string[]>;
};

/** Sets every key. `providers` are added to the user's config. */
export function withCanaries<Home extends TemporaryHome>(skein: Home, providers: Record<string, unknown> = {}): CanaryHome<Home> {
  for (const name of keyVariables) skein.env[name] = secret(name);
  for (const file of keyFiles) writeIn(join(skein.home, file), JSON.stringify((shapes[file] ?? ((key) => ({ key })))(secret(file))));
  const acme = { base_url: "http://127.0.0.1:9", api_key: secret("acme") };
  writeIn(configOf(skein), JSON.stringify({ providers: { acme, ...providers } }));
  const streams: string[] = [];
  const { run } = skein;
  const allowedPaths = new Set([...keyFiles.map((file) => join(skein.home, file)), configOf(skein)]);
  return Object.assign(skein, {
    async run(...args: Parameters<typeof run>) {
      const ran = await run(...args);
      streams.push(...[ran.out, ran.err].filter((text) => canaryPattern.test(text)).map(excerptAround));
      return ran;
    },
    leaks: async () => [...streams, ...(await filesWithKeys(skein.root)).filter((path) => !allowedPaths.has(path))],
  });
}

export function configOf(skein: TemporaryHome): string {
  return join(skein.env["SKEIN_HOME"]!, "config", "config.jsonc");
}

/** Makes all files readable first, because a sandbox may have closed them. A file that can't be searched is an error. */
async function filesWithKeys(root: string): Promise<string[]> {
  await Bun.spawn(["chmod", "-R", "u+rX", root], { stderr: "ignore" }).exited;
  const child = Bun.spawn(["grep", "-rlaE", "--devices=skip", pattern, root], { stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code > 1) throw new Error(`the search for keys failed: ${err}`);
  return out.split("\n").filter((path) => path !== "");
}

export function writeIn(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function excerptAround(text: string): string {
  const start = text.search(canaryPattern);
  return text.slice(Math.max(0, start - 80), start + 60);
}
