// Which proxy of the person's own stands between us and a host, by the variables that programs agree on. Pure.

export function upstreamProxy(env: Record<string, string | undefined>, host: string): URL | null {
  const named = env["HTTPS_PROXY"] || env["https_proxy"] || env["ALL_PROXY"] || env["all_proxy"] || "";
  if (named === "" || isExempt(env["NO_PROXY"] || env["no_proxy"] || "", host)) return null;
  const text = named.includes("://") ? named : `http://${named}`;
  // Only plain ones are spoken to: what goes through is encrypted anyway.
  return URL.canParse(text) && new URL(text).protocol === "http:" ? new URL(text) : null;
}

function isExempt(list: string, host: string): boolean {
  const names = list.split(",").map((name) =>
    name
      .trim()
      .toLowerCase()
      .replace(/^\*?\./, ""),
  );
  return names.some((name) => name === "*" || (name !== "" && (host === name || host.endsWith(`.${name}`))));
}
