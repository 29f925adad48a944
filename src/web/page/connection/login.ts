// Logs this browser in by the code of the link that `skein web` prints, or by the password. The server keeps the cookie out
// of reach of scripts. The key stays in this origin's storage, which no other port of the host can read.

/** Two pages behind one proxy have the same origin and different paths. */
const keyName = `skein-key:${location.pathname}`;
const directoryName = `skein-directory:${location.pathname}`;

export function storedKey(): string | null {
  return localStorage.getItem(keyName);
}

/** The directory in which `skein web` was called last; null if it is not known. */
export function callerDirectory(): string | null {
  return localStorage.getItem(directoryName);
}

/** Uses the code in the address, if there is one, and removes it from the address and the history. Returns an error text. */
export async function logInByLink(): Promise<string | null> {
  const params = new URLSearchParams(location.hash.slice(1));
  const code = params.get("login");
  if (code === null) return null;
  const directory = params.get("directory");
  history.replaceState(null, "", `${location.pathname}#/`);
  const problem = await logIn(code);
  // Only a valid link may choose the directory: any text on the page can contain a link to this address.
  if (problem === null && directory !== null) localStorage.setItem(directoryName, directory);
  // A link that was used before does not matter in the browser that used it.
  return storedKey() === null ? problem : null;
}

/** Returns null, or the reason why it failed. */
export async function logIn(code: string): Promise<string | null> {
  try {
    const response = await fetch("login", {
      method: "POST",
      body: JSON.stringify({ code }),
      headers: { "Content-Type": "application/json" },
    });
    if (!response.ok) return (await response.text()).trim();
    const { key } = (await response.json()) as { key: string };
    localStorage.setItem(keyName, key);
    return null;
  } catch (error) {
    return `the hub does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export async function logOut(): Promise<void> {
  localStorage.removeItem(keyName);
  await fetch("logout", { method: "POST" });
}
