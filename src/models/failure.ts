// Classifies failures of requests: one table maps errors of vendors and networks to a kind, a hint and a retry rule.
// A message is one line of at most 300 characters and never contains a key.
import { oneLine } from "../kit/text/cut-text.ts";
import { messageOf, type TurnError, type TurnStatus } from "../protocol/api/error.ts";
import { isLimitError } from "../protocol/limits/at-limit.ts";
import type { Endpoint, VendorError } from "./model.ts";
import { keyHint, findVendor, stripUrlSecrets } from "./vendors.ts";

export type Failure = {
  error: TurnError;
  /** "once": one retry only, because a second failure of this kind is unlikely to be temporary. */
  retry: "never" | "once" | "backoff";
  retryAfterMs?: number;
};

export type RequestTarget = { endpoint: Endpoint; model: string };

type Rule = {
  statuses?: number[];
  /** Statuses from this one on match too. */
  minStatus?: number;
  codes?: RegExp;
  words?: RegExp;
  kind: TurnStatus;
  retry: Failure["retry"];
  hint?: (target: RequestTarget) => string;
};

const maxMessageLength = 300;

/** The first rule that matches counts. A rule matches by a status, by a code or by words of the message. */
const rules: Rule[] = [
  {
    statuses: [401, 403],
    codes: /^(authentication_error|permission_error|invalid_api_key|invalid_authentication|UNAUTHENTICATED|PERMISSION_DENIED)$/,
    words: /api key not valid|(invalid|incorrect) (x-)?api[- ]key/i,
    kind: "auth",
    retry: "never",
    hint: authHint,
  },
  {
    statuses: [407],
    kind: "network",
    retry: "never",
    hint: () => "the proxy requires a login: check HTTPS_PROXY and HTTP_PROXY",
  },
  {
    statuses: [402],
    codes: /insufficient_quota|billing/,
    words: /credit balance is too low|insufficient (credits|balance|funds)/i,
    kind: "rate-limited",
    retry: "never",
    hint: ({ endpoint }) => `the ${endpoint.vendor} account has no credit or quota left: see its billing page`,
  },
  {
    statuses: [503, 529],
    codes: /overloaded|^UNAVAILABLE$|^slow_down$|service_unavailable/,
    kind: "overloaded",
    retry: "backoff",
    hint: ({ endpoint }) => `${endpoint.vendor} is overloaded; try again later or with another model`,
  },
  {
    statuses: [429],
    codes: /rate_limit|usage_limit|^RESOURCE_EXHAUSTED$|too_many_requests/,
    kind: "rate-limited",
    retry: "backoff",
    hint: ({ endpoint }) => `the rate limit of ${endpoint.vendor} is reached; try again later or with another model`,
  },
  {
    statuses: [413],
    codes: /context_length|request_too_large|string_above_max_length/,
    words:
      /(prompt|input|request) (is )?too long|maximum context|context[ _](length|window|size)|exceeds? (the )?(context|maximum (number of )?(input )?tokens)|token count .{0,40}exceeds|too many (input )?tokens|reduce the length of/i,
    kind: "too-long",
    retry: "never",
    hint: () => "the conversation is longer than the model's window: start a new session, move back, or use a model with a larger window",
  },
  {
    codes: /content_filter|content_policy|invalid_prompt|bio_policy|cyber_policy/,
    kind: "refused",
    retry: "never",
    hint: () => "the vendor refused the request",
  },
  {
    statuses: [404],
    codes: /^(not_found_error|model_not_found|NOT_FOUND)$/,
    kind: "broken",
    retry: "never",
    hint: missingHint,
  },
  {
    statuses: [408, 409, 425],
    minStatus: 500,
    codes: /^(api_error|server_error|internal_error|timeout_error|INTERNAL|DEADLINE_EXCEEDED|ABORTED|UNKNOWN)$/,
    kind: "overloaded",
    retry: "backoff",
    hint: () => "the vendor's server failed; try again later or with another model",
  },
  {
    codes: /^(MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|OTHER|invalid-json)$/,
    kind: "broken",
    retry: "once",
    hint: () => "the model's answer could not be read; try again or use another model",
  },
  {
    statuses: [301, 302, 303, 307, 308],
    kind: "broken",
    retry: "never",
    hint: ({ endpoint }) =>
      `${stripUrlSecrets(endpoint.baseUrl)} redirects to another address, and keys are not sent there: check the base URL`,
  },
];

export function classify(problem: VendorError, target: RequestTarget): Failure {
  const { status, code, message } = problem;
  const { kind, retry, hint }: Rule = rules.find((rule) => matches(rule, problem)) ?? { kind: "broken", retry: "never" };
  const failure = makeFailure(target, { kind, status, message: message || code || "no message", hint: hint?.(target), retry });
  const error =
    isLimitError(failure.error) && problem.resetAt !== undefined ? { ...failure.error, resetAt: problem.resetAt } : failure.error;
  return { ...failure, error, retryAfterMs: problem.retryAfterMs };
}

function matches({ statuses, minStatus = Infinity, codes, words }: Rule, { status, code, message }: VendorError): boolean {
  if (status !== null && (statuses?.includes(status) || status >= minStatus)) return true;
  if (code !== "" && codes?.test(code)) return true;
  return words?.test(message) === true && (status === null || status < 500);
}

function authHint({ endpoint }: RequestTarget): string {
  const vendor = findVendor(endpoint.vendor);
  if (!vendor || vendor.isLocal) return `check the key of ${endpoint.vendor} in the config`;
  return `the key was refused: ${keyHint(vendor)}`;
}

function missingHint({ endpoint, model }: RequestTarget): string {
  if (endpoint.vendor === "ollama") return `install it with \`ollama pull ${model}\`; \`skein models\` lists the installed models`;
  return "`skein models` lists the models; check the base URL if one is set";
}

/** The connection failed or was lost. */
export function networkFailure(cause: unknown, target: RequestTarget): Failure {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  const url = stripUrlSecrets(target.endpoint.baseUrl);
  const isTls = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE/i.test(code);
  const advice = findVendor(target.endpoint.vendor)?.isLocal
    ? `is ${target.endpoint.vendor} running?`
    : "check the connection and the proxy";
  const hint = isTls
    ? `the certificate of ${url} is not trusted; NODE_EXTRA_CA_CERTS can name another authority`
    : `no answer from ${url}: ${advice}`;
  const message = messageOf(cause).replace(/\s*For more information, pass `verbose: true`.*$/s, "");
  return makeFailure(target, { kind: "network", message, hint, retry: isTls ? "never" : "backoff" });
}

export function droppedFailure(target: RequestTarget): Failure {
  const hint = `the connection to ${stripUrlSecrets(target.endpoint.baseUrl)} was lost; ask the model to continue`;
  return makeFailure(target, { kind: "network", message: "the answer stopped before its end", hint, retry: "backoff" });
}

export function stalledFailure(idleMs: number, target: RequestTarget): Failure {
  const hint = "the server keeps the connection open but sends nothing; try again";
  return makeFailure(target, { kind: "stalled", message: `no data for ${secondsOf(idleMs)}`, hint, retry: "once" });
}

export function cancelledFailure(): Failure {
  return { error: { kind: "cancelled", message: "stopped while the model was answering" }, retry: "never" };
}

export function emptyFailure(target: RequestTarget): Failure {
  const hint = "the model returned no text and no call; try again or use another model";
  return makeFailure(target, { kind: "broken", message: `empty answer from ${target.model}`, hint, retry: "once" });
}

export function brokenFailure(message: string, target: RequestTarget, hint?: string): Failure {
  return makeFailure(target, { kind: "broken", message, hint, retry: "never" });
}

/** The same failure, with a hint that the server requested a longer wait than allowed. */
export function retryTooLate(failure: Failure, retryAfterMs: number): TurnError {
  return { ...failure.error, hint: `the server asked to wait ${secondsOf(retryAfterMs)}; try again then or use another model` };
}

function secondsOf(ms: number): string {
  const seconds = Math.round(ms / 100) / 10;
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

type FailureText = Pick<TurnError, "kind" | "message" | "hint"> & { status?: number | null; retry: Failure["retry"] };

function makeFailure({ endpoint }: RequestTarget, { kind, status = null, message, hint, retry }: FailureText): Failure {
  const prefix = status === null ? endpoint.vendor : `${endpoint.vendor} answered ${status}`;
  const line = oneLine(redact(`${prefix}: ${message}`, endpoint), maxMessageLength);
  return { error: { kind, message: line, ...(hint && { hint: redact(hint, endpoint) }) }, retry };
}

const keyPatterns = /\b(sk|gsk|xai|pk|rk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+\S+/g;

function redact(text: string, endpoint: Endpoint): string {
  const secrets = [endpoint.apiKey, ...Object.values(endpoint.headers)].filter((secret) => secret.length >= 4);
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, "[key]").replaceAll(encodeURIComponent(secret), "[key]");
  return clean.replace(keyPatterns, "[key]");
}
