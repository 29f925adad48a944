// Decides who may use the page. A one-time code becomes a login: a cookie that scripts can't read, and a key that only pages of this
// origin can read. Both are needed, because browsers send cookies to every port of a host. Only hashes are kept.
import { createHash, createHmac, randomBytes } from "node:crypto";
import { isSameToken } from "../../kit/flow/loopback.ts";

export type StoredLogin = { cookie: string; key: string; at: number };
export type NewLogin = { cookie: string; key: string };

export const loginLimits = {
  codeMs: 5 * 60_000,
  loginMs: 30 * 86_400_000,
  /** Older logins end when there are more. */
  logins: 50,
  codes: 20,
  failures: { count: 20, perMs: 60_000 },
};

export type LoginsDeps = {
  stored: readonly StoredLogin[];
  /** Called after each change. */
  onChange: (logins: StoredLogin[]) => void;
  /** Called with each login that has ended, as `loginOf` returns it. */
  onEnd: (login: string) => void;
  /** Reads the password for other machines; null if there is none. May throw a fault. */
  readPassword: () => string | null;
  now: () => number;
};

export class Logins {
  readonly #deps: LoginsDeps;
  #logins: StoredLogin[];
  /** Hashes of unused codes, and when each ends. */
  readonly #codes = new Map<string, number>();
  #failures: number[] = [];

  constructor(deps: LoginsDeps) {
    this.#deps = deps;
    this.#logins = [...deps.stored];
  }

  /** A code for one login. */
  createCode(): { code: string; endsAt: number } {
    const code = randomBytes(24).toString("base64url");
    const endsAt = this.#deps.now() + loginLimits.codeMs;
    this.#codes.set(hash(code), endsAt);
    const oldest = this.#codes.keys().next();
    if (this.#codes.size > loginLimits.codes && oldest.done === false) this.#codes.delete(oldest.value);
    return { code, endsAt };
  }

  /** Exchanges a code, or the password, for a login. */
  exchange(code: string): NewLogin | "wrong" | "too many failures" {
    const now = this.#deps.now();
    const { count, perMs } = loginLimits.failures;
    this.#failures = this.#failures.filter((at) => now - at < perMs);
    // A code can't be guessed. So another program on this machine can't lock the user out with wrong ones.
    if (!this.#takeCode(code, now)) {
      if (this.#failures.length >= count) return "too many failures";
      if (!this.#isPassword(code)) {
        this.#failures.push(now);
        return "wrong";
      }
    }
    const login = { cookie: randomBytes(32).toString("base64url"), key: randomBytes(32).toString("base64url") };
    this.#replace([...this.#logins, { cookie: hash(login.cookie), key: hash(login.key), at: now }].slice(-loginLimits.logins));
    return login;
  }

  /** A name of the login for this process; null if no cookie is that of the key's login. */
  loginOf(cookies: readonly string[], key: string | null): string | null {
    if (key === null) return null;
    const login = cookies.map((cookie) => this.#find(cookie)).find((found) => found?.key === hash(key));
    return login?.cookie ?? null;
  }

  /**
   * Proves to a page that this server has the hash of its key, without the key. `name` is what the page calls its login.
   * Null if there is no such login. The text contains the page's address, so that no other server can pass the proof on.
   */
  prove(name: string, text: string): string | null {
    const login = this.#logins.find(({ key, at }) => loginName(key) === name && this.#deps.now() - at < loginLimits.loginMs);
    return login === undefined ? null : createHmac("sha256", login.key).update(text).digest("base64url");
  }

  end(cookie: string): void {
    this.#replace(this.#logins.filter((login) => login.cookie !== hash(cookie)));
  }

  endAll(): void {
    this.#codes.clear();
    this.#replace([]);
  }

  #find(cookie: string): StoredLogin | undefined {
    const wanted = hash(cookie);
    return this.#logins.find((login) => login.cookie === wanted && this.#deps.now() - login.at < loginLimits.loginMs);
  }

  #takeCode(code: string, now: number): boolean {
    const endsAt = this.#codes.get(hash(code));
    this.#codes.delete(hash(code));
    return endsAt !== undefined && now < endsAt;
  }

  #isPassword(text: string): boolean {
    const password = this.#deps.readPassword();
    return password !== null && isSameToken(text, password);
  }

  #replace(logins: StoredLogin[]): void {
    const ended = this.#logins.filter((login) => !logins.includes(login));
    this.#logins = logins;
    this.#deps.onChange(logins);
    for (const { cookie } of ended) this.#deps.onEnd(cookie);
  }
}

/** The page computes it from its key. It reveals neither the key nor its hash. */
function loginName(keyHash: string): string {
  return hash(`login ${keyHash}`);
}

/** Codes, cookies and keys have 192 random bits or more, so a plain hash is enough. It also makes the comparison safe to time. */
function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
