// Selects the variables of the user's environment that tools may see. It is an allow-list of variables that programs need:
// credentials, sockets of agents and variables of skein itself are not on it.
import { parseHostPatterns } from "../kit/flow/host-pattern.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import { sessionTagVariables } from "../sandbox/enclosing-session.ts";

const names = new Set(
  [
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TZ TMPDIR HOSTNAME",
    "EDITOR VISUAL PAGER LESS CI AI_AGENT",
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY http_proxy https_proxy all_proxy no_proxy ftp_proxy",
    "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO",
    "PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH MANPATH INFOPATH",
    "CC CXX AR LD CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS CMAKE_PREFIX_PATH",
    "GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOPROXY GOPRIVATE GOTOOLCHAIN",
    "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS",
    "JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME KOTLIN_HOME SCALA_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT",
    "NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH N_PREFIX NODE_PATH NPM_CONFIG_PREFIX COREPACK_HOME PNPM_HOME YARN_CACHE_FOLDER DENO_DIR DENO_INSTALL",
    "PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE PYTHONPATH PYTHONHOME PIPX_HOME PIPENV_VENV_IN_PROJECT POETRY_HOME UV_CACHE_DIR UV_PYTHON",
    "RBENV_ROOT RBENV_VERSION GEM_HOME GEM_PATH RUBYLIB BUNDLE_PATH ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR PHP_INI_SCAN_DIR COMPOSER_HOME",
    "DOTNET_ROOT DOTNET_CLI_HOME NUGET_PACKAGES GHCUP_INSTALL_BASE_PREFIX STACK_ROOT OPAM_SWITCH_PREFIX OCAMLPATH MIX_HOME HEX_HOME ERL_LIBS JULIA_DEPOT_PATH ZIG_GLOBAL_CACHE_DIR",
    "NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY WSL_DISTRO_NAME",
  ].flatMap((line) => line.split(" ")),
);
const prefixes = ["LC_", "XDG_"];
/** The directory with the sockets of agents and desktop programs. */
const runtimeDirectory = "XDG_RUNTIME_DIR";

export function toolEnvironment(env: Record<string, string | undefined>, sandbox: SandboxInfo | null = null): Record<string, string> {
  const allowed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || name === runtimeDirectory) continue;
    if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) allowed[name] = value;
  }
  if (sandbox !== null) allowed.TMPDIR = sandbox.temp;
  if (sandbox?.sessionTag !== undefined) Object.assign(allowed, sessionTagVariables(sandbox.sessionTag));
  if (sandbox?.isEnforced && sandbox.net === "off") removeNetworkSecrets(allowed);
  if (sandbox?.isEnforced && sandbox.named !== undefined) Object.assign(allowed, proxyVariables(sandbox.named));
  // Without PATH a shell finds only its built-ins.
  allowed.PATH ||= "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
  allowed.AI_AGENT ||= "skein";
  return allowed;
}

const programNames = new Set("PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR".split(" "));

/**
 * The environment of a program with its own variables, such as an MCP server. Of the tools' environment it gets the variables
 * that every program needs, the proxy to named hosts, and skein's tags, which `own` can't replace.
 */
export function programEnvironment(toolEnv: Record<string, string>, own: Record<string, string>): Record<string, string> {
  const entries = Object.entries(toolEnv);
  const base = entries.filter(([name]) => programNames.has(name) || name.startsWith("LC_") || isProxyVariable(name));
  const tags = entries.filter(([name]) => name.startsWith("SKEIN_"));
  return { ...Object.fromEntries(base), ...own, ...Object.fromEntries(tags) };
}

function isProxyVariable(name: string): boolean {
  return /_proxy$/i.test(name) || name === "NODE_USE_ENV_PROXY";
}

/** Servers of the tools themselves are reached without the proxy, unless the user named that host outside. */
export function proxyVariables({ hosts, port }: NonNullable<SandboxInfo["named"]>): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const named = parseHostPatterns(hosts).map(({ name }) => name);
  const direct = ["localhost", "127.0.0.1", "::1"].filter((host) => !named.includes(host)).join(",");
  const variables = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: direct };
  const lowerCase = Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value]);
  // Node uses these variables only with this one.
  return { ...variables, ...Object.fromEntries(lowerCase), NODE_USE_ENV_PROXY: "1" };
}

/** The user and password of a URL, as in GOPROXY. */
const credentialsInUrl = /(?<=[a-z][a-z0-9+.-]*:\/\/)[^\s/@,;|'"]+@/gi;

/** A proxy can't be reached without a network, and its error would hide the reason. Passwords have no use either. */
export function removeNetworkSecrets(env: Record<string, string>): void {
  for (const [name, value] of Object.entries(env)) {
    if (/_proxy$/i.test(name)) delete env[name];
    else if (value.includes("://")) env[name] = value.replace(credentialsInUrl, "");
  }
}
