// Paths that are the same for every user: secrets that no tool may read, and scratch directories that get a private
// copy. Relative names are below a home directory, or below the directory that a variable names instead.
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize, sep } from "node:path";

/** Names below a directory of the home. `variable` may name another directory; both are covered then. */
type SecretGroup = { directory: string; variable?: string; names: string[] };

/** Editors keep tokens and the conversations of their agents in these directories. */
const editors = ["Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf", "Kiro", "Antigravity", "Trae"];
const editorSecrets = (names: string[]) => names.flatMap((name) => [join(name, "User/globalStorage"), join(name, "User/workspaceStorage")]);

const homeNames = [
  // keys, clouds, registries, databases, mail
  ".ssh .gnupg .aws .azure .oci .kube .docker .netrc .git-credentials .npmrc .yarnrc.yml .pypirc .gem/credentials .bundle/config",
  ".cargo/credentials .cargo/credentials.toml .composer/auth.json .sbt/.credentials .sbt/credentials .ivy2/.credentials",
  ".sbt/0.13/credentials.sbt .sbt/1.0/credentials.sbt .sbt/0.13/plugins/credentials.sbt .sbt/1.0/plugins/credentials.sbt .hex/hex.config",
  ".terraform.d/credentials.tfrc.json .terraformrc .vault-token .s3cfg .boto .databrickscfg .snowflake .fly .netlify .kaggle .pulumi/credentials.json",
  ".mc .minio .cloudflared .tsh .supabase .railway .ngrok2 .linode-cli .doctl .eksctl .bitcoin .electrum .ethereum .mongorc.js",
  ".subversion/auth .k3d .minikube .step .putty .purple .filezilla .remmina",
  ".pgpass .my.cnf .mylogin.cnf .authinfo .authinfo.gpg .msmtprc .fetchmailrc .mbsyncrc .offlineimaprc .getmail .muttrc .mutt .thunderbird .Xauthority",
  // password stores and browsers
  ".password-store .gnome2/keyrings .kde/share/apps/kwallet .kde4/share/apps/kwallet .pki .1password .op .age .lpass .passage",
  ".mozilla .librewolf .waterfox .zen .var/app snap/firefox snap/chromium snap/brave snap/opera snap/vivaldi snap/thunderbird snap/bitwarden snap/bw",
  "Library/Keychains Library/Cookies Library/Safari Library/Messages Library/Mail Library/Firefox",
  // histories
  ".bash_history .zsh_history .zhistory .zsh_sessions .bash_sessions .histfile .history .sh_history .ksh_history .tcsh_history .viminfo .lesshst",
  ".node_repl_history .psql_history .python_history .mysql_history .mariadb_history .sqlite_history .rediscli_history .duckdb_history .dbshell",
  ".mongodb/mongosh .irb_history .pry_history .php_history .scala_history .Rhistory .lua_history .erlang-history .ghci_history .usql_history .xonsh_history",
  // credentials and conversations of other agents
  ".claude .claude.json .claude.json.backup .codex .gemini .pi .qwen .cursor .continue .factory .grok .copilot .ollama/id_ed25519 .ollama/history",
  ".aider.conf.yml .aider .codeium .windsurf .kiro .cline .roo .augment .amp .openai .anthropic .trae .crush .goose",
].flatMap((line) => line.split(" "));

const configNames = [
  "gcloud doctl hub gh glab-cli git/credentials op containers/auth.json composer/auth.json wrangler .wrangler stripe hcloud ngrok sops rclone",
  "configstore vercel helm heroku fly flyctl pulumi railway supabase cloudflared scaleway scw linode-cli exercism netlify aliyun tccli",
  "pnpm/rc turborepo cosign tea lab filezilla remmina Postman Insomnia beekeeper-studio sublime-merge",
  "pypoetry/auth.toml hatch/config.toml github-copilot msmtp msmtprc isync neomutt mutt aerc himalaya",
  "google-chrome google-chrome-beta google-chrome-unstable chromium BraveSoftware microsoft-edge microsoft-edge-beta microsoft-edge-dev vivaldi opera",
  "Slack discord Signal Bitwarden 1Password age keepassxc gopass rbw kwalletrc com.bitwarden.desktop",
  "nushell/history.txt nushell/history.sqlite3 litecli/history pgcli/history mycli/history usql/history",
  "opencode crush goose amp io.datasette.llm Claude aichat mods fabric shell_gpt anthropic openai zed/conversations",
].flatMap((line) => line.split(" "));

const dataNames = [
  "keyrings kwalletd kwalletd5 kwalletd6 pass gopass rbw lpass atuin fish/fish_history com.vercel.cli uv/credentials heroku/credentials supabase",
  "opencode crush goose amp amazon-q io.datasette.llm zed/conversations zed/threads com.bitwarden.desktop TelegramDesktop zsh/history bash/history",
  "nvim/shada octave/history evolution geary remmina DBeaverData jupyter/runtime",
].flatMap((line) => line.split(" "));

const groups: readonly SecretGroup[] = [
  { directory: "", names: [...homeNames, ...editorSecrets([".vscode-server/data", ".cursor-server/data"])] },
  { directory: ".config", variable: "XDG_CONFIG_HOME", names: [...configNames, "Bitwarden CLI", ...editorSecrets(editors)] },
  { directory: ".local/share", variable: "XDG_DATA_HOME", names: dataNames },
  {
    directory: ".local/state",
    variable: "XDG_STATE_HOME",
    names: "nvim/shada bash/history zsh/history python_history python/history psql/history less/history amp".split(" "),
  },
  { directory: ".cache", variable: "XDG_CACHE_HOME", names: "huggingface/token huggingface/stored_tokens zsh/history".split(" ") },
  { directory: "Library/Application Support", names: [...configNames, "Google/Chrome", "Firefox", "Arc", ...editorSecrets(editors)] },
];

const credentialPattern = /_authToken|_password|<apikeys>|<packageSourceCredentials>|\b(token|password)\s*=|:\/\/[^/\s@]+@/i;
/**
 * Settings files of package managers, which create them for every user and can't work without them. A file is hidden only
 * if it contains a credential.
 */
const settingsFiles = [".yarnrc", ".bunfig.toml", ".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config"];

const machineSecrets = [
  "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/wireguard /etc/krb5.keytab",
  "/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /etc/NetworkManager/system-connections",
  "/etc/kubernetes /etc/rancher /etc/letsencrypt/live /etc/letsencrypt/archive /etc/ppp/chap-secrets /etc/ppp/pap-secrets /etc/ipsec.secrets /etc/openvpn",
  // sockets of programs that would act for a tool beyond its own rights
  "/run/docker.sock /var/run/docker.sock /run/podman /run/containers /run/containerd /run/crio /run/dbus /run/user /run/systemd/private /run/snapd.socket /run/libvirt",
  "/tmp/.X11-unix /tmp/.ICE-unix",
].flatMap((line) => line.split(" "));

/** Tickets of Kerberos: `/tmp/krb5cc_<uid>`, with or without a random ending. */
const ticketPrefix = "krb5cc_";

/** Package managers and compilers store downloads and results here, and fail if they can't write.  */
const homeScratch = ".cache .npm .cargo .rustup .gradle .m2 .ivy2 .bun/install .yarn .nuget .dotnet go/pkg Library/Caches".split(" ");

/**
 * Variables that move single secrets, and the secret parts of the directory that they name; "" is the named path itself.
 * A value may be a list with colons, or have a prefix such as `FILE:`.
 */
const movedSecrets: Record<string, readonly string[]> = {
  GEMINI_CLI_HOME: [".gemini"],
  CARGO_HOME: ["credentials", "credentials.toml"],
  COMPOSER_HOME: ["auth.json"],
  CURL_HOME: [".netrc", ".curlrc"],
  HF_HOME: ["token", "stored_tokens"],
  POETRY_CONFIG_DIR: ["auth.toml"],
  PULUMI_HOME: ["credentials.json"],
  ...Object.fromEntries(
    [
      "CLAUDE_CONFIG_DIR CODEX_HOME PI_CODING_AGENT_DIR COPILOT_HOME LLM_USER_PATH",
      "KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AZURE_CONFIG_DIR CLOUDSDK_CONFIG GOOGLE_APPLICATION_CREDENTIALS OCI_CLI_CONFIG_FILE",
      "DOCKER_CONFIG REGISTRY_AUTH_FILE HELM_CONFIG_HOME HELM_REGISTRY_CONFIG HELM_REPOSITORY_CONFIG TF_CLI_CONFIG_FILE RCLONE_CONFIG BOTO_CONFIG",
      "DATABRICKS_CONFIG_FILE SNOWFLAKE_HOME TELEPORT_HOME KAGGLE_CONFIG_DIR HF_TOKEN_PATH NPM_CONFIG_USERCONFIG npm_config_userconfig",
      "GNUPGHOME PASSWORD_STORE_DIR SOPS_AGE_KEY_FILE GH_CONFIG_DIR GLAB_CONFIG_DIR NETRC PGPASSFILE KRB5CCNAME KRB5_KTNAME XAUTHORITY ICEAUTHORITY",
      "HISTFILE LESSHISTFILE PSQL_HISTORY MYSQL_HISTFILE SQLITE_HISTORY REDISCLI_HISTFILE NODE_REPL_HISTORY PYTHON_HISTORY",
    ]
      .flatMap((line) => line.split(" "))
      .map((name) => [name, [""]]),
  ),
};

/** `env` is the user's environment. Some of the paths may not exist. */
export function secretPaths({ home, isRoot, env = {} }: SecretOwner): string[] {
  const homes = new Set([home, ...(isRoot ? ["/root", ...listNames("/home").map((name) => join("/home", name))] : [])]);
  const moved = [...movedGroups(env), ...movedPaths(env)].filter((path) => !isTooBroad(path, home));
  return [...machineSecrets, ...tickets(), ...[...homes].flatMap(secretsOfHome), ...moved];
}

type Variables = Record<string, string | undefined>;
type SecretOwner = { home: string; isRoot: boolean; env?: Variables };

export function scratchPaths(home: string): string[] {
  return ["/tmp", "/var/tmp", ...homeScratch.map((name) => join(home, name))];
}

/**
 * Paths of secrets that may appear later: at least one for each directory of secrets, which is enough for a rule that
 * allows the existing entries of that directory one by one.
 */
export function missingSecrets(home: string): string[] {
  const examples = groups.flatMap(({ directory, names }) => {
    const present = listing(join(home, directory));
    const missing = names.find((name) => present?.has(firstPart(name)) === false);
    return missing === undefined ? [] : [join(home, directory, missing)];
  });
  return [...examples, ...secretsOfHome(home)].filter((path) => !existsSync(path));
}

function secretsOfHome(home: string): string[] {
  const settings = settingsFiles.map((name) => join(home, name)).filter(hasCredential);
  return [...groups.flatMap(({ directory, names }) => presentBelow(join(home, directory), names)), ...settings];
}

/** True also for a file that can't be read. */
function hasCredential(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined && credentialPattern.test(readFileSync(path, "latin1"));
  } catch {
    return true;
  }
}

function movedGroups(env: Variables): string[] {
  return groups.flatMap(({ variable, names }) => {
    const directory = variable === undefined ? undefined : env[variable];
    return directory?.startsWith(sep) ? presentBelow(normalize(directory), names) : [];
  });
}

function movedPaths(env: Variables): string[] {
  return Object.entries(movedSecrets).flatMap(([variable, parts]) => {
    const paths = (env[variable] ?? "").split(":").filter((path) => path.startsWith(sep));
    return paths.flatMap((path) => parts.map((part) => join(path, part).replace(/(?<=.)\/$/, "")));
  });
}

/** A variable with a common value such as `/dev/null` or `/tmp` must not hide more than a secret. */
function isTooBroad(path: string, home: string): boolean {
  const isParent = path.lastIndexOf(sep) === 0 || `${home}${sep}`.startsWith(`${path}${sep}`);
  return isParent || /^\/(dev|proc|sys)\//.test(path) || scratchPaths(home).includes(path);
}

/**
 * Leaves out names whose first part does not exist. One listing is cheaper than a lookup of every name.
 * Returns all names if the directory can't be listed, and on macOS, where names may differ in case.
 */
function presentBelow(directory: string, names: readonly string[]): string[] {
  const present = process.platform === "darwin" ? null : listing(directory);
  return (present === null ? names : names.filter((name) => present.has(firstPart(name)))).map((name) => join(directory, name));
}

function firstPart(path: string): string {
  const end = path.indexOf(sep);
  return end < 0 ? path : path.slice(0, end);
}

function tickets(): string[] {
  return listNames("/tmp").flatMap((name) => (name.startsWith(ticketPrefix) ? [join("/tmp", name)] : []));
}

/** The names in a directory. Empty if there is no such directory; null if it can't be listed. */
function listing(directory: string): ReadonlySet<string> | null {
  try {
    return new Set(readdirSync(directory));
  } catch (error) {
    return /^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "") ? new Set() : null;
  }
}

function listNames(directory: string): string[] {
  return [...(listing(directory) ?? [])];
}
