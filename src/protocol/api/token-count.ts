// How much of a model's window a project would fill.

export type CountTokensParams = {
  /** Files and directories, absolute or relative to the directory; all of it is the project's. */
  items: string[];
  directory: string;
  /** How many of the largest are named. */
  top: number;
  /** What is not counted by then is estimated. */
  limitMs: number;
};

export type TokenCount = {
  tokenizer: "o200k_base";
  totalTokens: number;
  totalFiles: number;
  /** How many of these files are estimated by their size because the time was up. */
  estimatedFiles: number;
  largestFiles: { path: string; tokens: number }[];
  /** With all that is below them. */
  largestDirectories: { path: string; tokens: number; files: number }[];
  /** Not counted. */
  skipped: { binary: number; unreadable: number; secret: number };
};
