// Finds the user's own proxy for a host in HTTPS_PROXY, ALL_PROXY and NO_PROXY. Pure.

export function upstreamProxy(env: Record<string, string | undefined>, host: string): URL | null {
  const proxy = env["HTTPS_PROXY"] || env["https_proxy"] || env["ALL_PROXY"] || env["all_proxy"] || "";
  if (proxy === "" || isExempt(env["NO_PROXY"] || env["no_proxy"] || "", host)) return null;
  const url = proxy.includes("://") ? proxy : `http://${proxy}`;
  // Only http proxies are supported. The tunnel through them is encrypted anyway.
  return URL.canParse(url) && new URL(url).protocol === "http:" ? new URL(url) : null;
}

function isExempt(list: string, host: string): boolean {
  const names = list
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim().replace(/^\*?\./, ""));
  return names.some((name) => name === "*" || (name !== "" && (host === name || host.endsWith(`.${name}`))));
}
