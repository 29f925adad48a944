// Bytes of text per token, for estimates without a tokenizer.

export const bytesPerToken = {
  /** For budgets and context windows: counts too many tokens rather than too few, so that a request stays within its limit. */
  cautious: 3,
  /** For counts that are shown as estimates: English text and code have a little under four bytes a token. */
  average: 3.7,
} as const;

/** Tokens in so many bytes of text, for budgets. */
export function tokensIn(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken.cautious);
}
