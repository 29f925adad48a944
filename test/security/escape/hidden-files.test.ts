// Reads secrets of many programs with a tool, at their usual paths and where variables move them. Each file contains its own
// name, so that the output of the tool shows which files it could read.
import { describe, expect, test } from "bun:test";
import { chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildOutside, type Outside } from "./outside.ts";
import { type Person, persons } from "./person.ts";
import { outputOf, policyFlags } from "./runs.ts";

const namesInHome = [
  "snap/firefox/common/cookies .var/app/org.mozilla.firefox/cookies .config/microsoft-edge/Cookies .config/vivaldi/Cookies .config/opera/Cookies",
  ".config/Bitwarden/data.json .local/share/kwalletd/kdewallet.kwl .gnome2/keyrings/login .config/1Password/settings .config/age/keys.txt .pki/nssdb/key4.db",
  ".copilot/token .local/share/amp/secrets.json .config/io.datasette.llm/keys.json .claude.json.backup .config/Claude/config.json .ollama/id_ed25519",
  ".config/Code/User/globalStorage/state.vscdb .config/Cursor/User/globalStorage/state.vscdb .config/pypoetry/auth.toml .local/share/uv/credentials/c.toml",
  ".sbt/.credentials .ivy2/.credentials .config/helm/repositories.yaml .config/heroku/config .fly/config.yml .config/flyctl/config.yml .pulumi/credentials.json",
  ".mc/config.json .cloudflared/cert.pem .tsh/keys .supabase/access-token .railway/config.json .mylogin.cnf .authinfo .msmtprc .histfile .sqlite_history",
  ".config/pnpm/rc .config/turborepo/config.json .subversion/auth/svn.simple/x .config/filezilla/sitemanager.xml .purple/accounts.xml .local/share/remmina/x",
  ".config/remmina/pref .local/share/DBeaverData/credentials .config/tea/config.yml .config/Postman/x .config/Insomnia/x .k3d/config .minikube/ca.key",
  ".local/share/jupyter/runtime/x .putty/keys .config/cosign/key .step/secrets/key .config/lab/lab.toml",
  ".rediscli_history .config/nushell/history.txt .viminfo .config/gh/hosts.yml .config/gcloud/credentials.db",
].flatMap((line) => line.split(" "));

/** Files that contain a credential only for some users. */
const settings: Record<string, string> = {
  ".yarnrc": "//registry.corp/:_authToken",
  ".nuget/NuGet/NuGet.Config": "<packageSourceCredentials>",
  ".bunfig.toml": '[install.scopes]\ncorp = { token = "',
};

/** Variables that move secrets: their value, and the secret file, below a directory `moved` of the home. */
const movedFiles: Record<string, { value: string; file: string }> = {
  XDG_CONFIG_HOME: { value: "config", file: "config/gh/hosts.yml" },
  XDG_DATA_HOME: { value: "data", file: "data/keyrings/login" },
  CLOUDSDK_CONFIG: { value: "gcloud", file: "gcloud/credentials.db" },
  KUBECONFIG: { value: "kube/config", file: "kube/config" },
  AWS_SHARED_CREDENTIALS_FILE: { value: "aws/credentials", file: "aws/credentials" },
  AWS_CONFIG_FILE: { value: "aws/config", file: "aws/config" },
  GNUPGHOME: { value: "gnupg", file: "gnupg/secring" },
  CARGO_HOME: { value: "cargo", file: "cargo/credentials.toml" },
  DOCKER_CONFIG: { value: "docker", file: "docker/config.json" },
  HISTFILE: { value: "history", file: "history" },
  PGPASSFILE: { value: "pgpass", file: "pgpass" },
  NETRC: { value: "netrc", file: "netrc" },
};

const people = persons().filter((person) => person.uid === person.projectOwner);
const password = "hunter2-of-the-proxy";

describe.each(people)("as $name", (person) => {
  test("without a sandbox every file can be read, which shows that the reading works", async () => {
    const { files, readable } = await readAll(person, "none");
    expect(readable).toEqual(files);
  });

  test.each(["namespaces", "landlock"] as const)("under %s no secret can be read, and no password of a proxy is passed", async (tier) => {
    const { readable, output } = await readAll(person, tier);
    expect(readable).toEqual([]);
    expect(output).toContain("GOPROXY=https://proxy.corp");
    expect(output).not.toContain(password);
  });
});

async function readAll(person: Person, tier: "none" | "namespaces" | "landlock") {
  const outside = await buildOutside(person, tier !== "none");
  const ticket = `/tmp/krb5cc_${outside.world.token}`;
  try {
    const files = writeSecrets(outside, ticket);
    await outputOf(outside, [...outside.skein, "new", "main", "-m", "ollama/none"], tier);
    const command = `for f in ${files.map((file) => `'${file}'`).join(" ")}; do cat "$f" 2>/dev/null; done; env | grep ^GOPROXY`;
    const run = [...outside.skein, "exec", "main", command, ...policyFlags({ tier, policy: "workspace", net: "off" })];
    const output = await outputOf(outside, run, tier, environment(outside));
    return { files, output, readable: files.filter((file) => output.includes(`content of ${file};`)) };
  } finally {
    rmSync(ticket, { force: true });
    await outside.end();
  }
}

function writeSecrets({ world, person }: Outside, ticket: string): string[] {
  const moved = Object.values(movedFiles).map(({ file }) => join("moved", file));
  const files = [...[...namesInHome, ...Object.keys(settings), ...moved].map((name) => join(world.home, name)), ticket];
  for (const file of files) {
    const directory = mkdirSync(dirname(file), { recursive: true });
    const more = Object.entries(settings).find(([name]) => file.endsWith(name))?.[1] ?? "";
    writeFileSync(file, `content of ${file}; ${more}\n`, { mode: 0o600 });
    if (directory !== undefined) Bun.spawnSync(["chown", "-R", `${person.uid}:${person.uid}`, directory]);
    chownSync(file, person.uid, person.uid);
  }
  return files;
}

function environment({ world }: Outside): Record<string, string> {
  const moved = Object.entries(movedFiles).map(([name, { value }]) => [name, join(world.home, "moved", value)]);
  return { ...Object.fromEntries(moved), GOPROXY: `https://ada:${password}@proxy.corp` };
}
