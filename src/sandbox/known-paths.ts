// Paths that are the same for every user: secrets that no tool may read, and scratch directories that get a private
// copy. Relative names are below a home directory.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const homeSecrets = [
  ".ssh .gnupg .aws .azure .oci .kube .docker .config/gcloud .config/doctl .config/hub .config/gh .config/glab-cli",
  ".netrc .git-credentials .config/git/credentials .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .cargo/credentials .cargo/credentials.toml",
  ".gem/credentials .terraform.d/credentials.tfrc.json .terraformrc .vault-token .config/op .password-store .local/share/keyrings",
  ".config/containers/auth.json .composer/auth.json .config/composer/auth.json",
  ".config/wrangler .config/stripe .config/hcloud .config/ngrok .kaggle .cache/huggingface/token .cache/huggingface/stored_tokens .Xauthority .local/share/atuin",
  "Library/Keychains Library/Cookies .config/sops .config/rclone .s3cfg .boto .databrickscfg .snowflake .fly .netlify .config/configstore .config/vercel .local/share/com.vercel.cli",
  ".mozilla .config/google-chrome .config/chromium .config/BraveSoftware .config/Slack .thunderbird .bitcoin .electrum",
  ".bash_history .zsh_history .node_repl_history .psql_history .python_history .mysql_history .local/share/fish/fish_history",
  // credentials and conversations of other agents
  ".claude .claude.json .codex .gemini .pi .local/share/opencode .config/opencode .config/crush .local/share/crush .qwen .cursor .config/github-copilot .config/goose .local/share/goose .continue .factory .grok",
].flatMap((line) => line.split(" "));

const machineSecrets = [
  "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/wireguard",
  "/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /etc/NetworkManager/system-connections",
  // sockets of programs that would act for a tool beyond its own rights
  "/run/docker.sock /var/run/docker.sock /run/podman /run/containerd /run/crio /run/dbus /run/user /run/systemd/private /run/snapd.socket /run/libvirt",
  "/tmp/.X11-unix /tmp/.ICE-unix",
].flatMap((line) => line.split(" "));

/** Package managers and compilers store downloads and results here, and fail if they can't write.  */
const homeScratch = ".cache .npm .cargo .rustup .gradle .m2 .ivy2 .bun/install .yarn .nuget .dotnet go/pkg Library/Caches".split(" ");

/** Variables that move the directories of other agents, and the part of the directory that belongs to the agent. */
const movedSecrets = { CLAUDE_CONFIG_DIR: "", CODEX_HOME: "", GEMINI_CLI_HOME: ".gemini", PI_CODING_AGENT_DIR: "" };

/** `env` is the user's environment. */
export function secretPaths({ home, isRoot, env = {} }: SecretOwner): string[] {
  const homes = new Set([home, ...(isRoot ? ["/root", ...otherHomes()] : [])]);
  const moved = Object.entries(movedSecrets).flatMap(([name, part]) => (env[name]?.startsWith("/") ? [join(env[name], part)] : []));
  return [...machineSecrets, ...[...homes].flatMap((directory) => homeSecrets.map((name) => join(directory, name))), ...moved];
}

type SecretOwner = { home: string; isRoot: boolean; env?: Record<string, string | undefined> };

export function scratchPaths(home: string): string[] {
  return ["/tmp", "/var/tmp", ...homeScratch.map((name) => join(home, name))];
}

function otherHomes(): string[] {
  try {
    return readdirSync("/home").map((name) => join("/home", name));
  } catch {
    return [];
  }
}
