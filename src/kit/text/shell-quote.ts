// Quotes one word for a POSIX shell, zsh or fish. A word without special characters stays as it is.

export function shellQuote(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
