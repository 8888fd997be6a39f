/** Input without cache, output, cache reads, cache writes. */
export type Tokens = [number, number, number, number];

/** Why ccusage finds something else, and by how much. The explanations of a day must add up to its differences. */
export interface Explanation {
  agent: string;
  why: string;
  /** recount minus ccusage, by day and model. */
  tokens?: Record<string, Tokens>;
  /** recount minus ccusage in dollars, by day. */
  costsUsd?: Record<string, number>;
}

export const EXPLANATIONS: Explanation[] = [
  {
    agent: 'claude-code',
    why: 'ccusage skips a file whose JSON has spaces after the colons',
    tokens: { '2026-01-30 claude-opus-4-5-20251101': [7, 16, 99_105, 7189] },
    costsUsd: { '2026-01-30': 0.09492 },
  },
  {
    agent: 'claude-code',
    why: 'of requests over 200,000 input tokens ccusage prices the tokens beyond at the higher rate, the vendor the whole request',
    costsUsd: { '2025-09-20': 15.43908 },
  },
  {
    agent: 'claude-code',
    why: 'ccusage leaves out web searches, $0.01 each',
    costsUsd: {
      ...{ '2025-06-08': 0.01, '2025-10-08': 0.1, '2025-10-28': 0.02 },
      ...{ '2026-01-21': 0.06, '2026-02-10': 0.06, '2026-02-18': 0.01 },
    },
  },
  {
    agent: 'claude-code',
    why: 'ccusage leaves out that `inference_geo: us` costs 1.1 times as much',
    costsUsd: { '2025-12-16': 0.00002 },
  },
  {
    agent: 'codex',
    why: 'two fragments have a count and no line that names a model; ccusage assumes gpt-5',
    tokens: {
      '2025-09-25 gpt-5': [-335, -246, -2560, 0],
      '2025-09-25 unknown': [335, 246, 2560, 0],
      '2025-10-31 gpt-5': [-1211, -182, -10_880, 0],
      '2025-10-31 unknown': [1211, 182, 10_880, 0],
    },
    costsUsd: { '2025-09-25': -0.0032, '2025-10-31': -0.00469 },
  },
  {
    agent: 'codex',
    why: "a response was interrupted before it was counted; the thread's next total has it, ccusage does not",
    tokens: { '2026-06-22 gpt-5.5': [399, 69, 87_936, 0] },
    costsUsd: { '2026-06-22': 0.04803 },
  },
  {
    agent: 'opencode',
    why: "ccusage adds reasoning to the cost, which the messages' own total says is a part of the output",
    costsUsd: {
      ...{ '2026-03-06': -0.04335, '2026-03-07': -0.1656, '2026-03-08': -0.44864, '2026-03-09': -0.03709 },
      ...{ '2026-03-10': -0.19825, '2026-03-11': -0.16792, '2026-03-14': -0.08232 },
    },
  },
  {
    agent: 'copilot',
    why: 'one log has its total in `tokenDetails` alone, which ccusage does not read',
    tokens: { '2025-12-18 gpt-5-mini': [100, 15, 5, 0] },
    costsUsd: { '2025-12-18': 0.00006 },
  },
  {
    agent: 'copilot',
    why: 'no total at the end of the run: recount counts the output that each message reports, and says that the input is missing',
    tokens: {
      '2026-03-26 unknown': [0, 26, 0, 0],
      '2026-06-23 claude-opus-4.8': [0, 21_441, 0, 0],
      '2026-06-24 claude-opus-4.8': [0, 20_335, 0, 0],
      '2026-06-25 claude-sonnet-4.6': [0, 19_254, 0, 0],
    },
    costsUsd: { '2026-06-23': 0.53602, '2026-06-24': 0.50838, '2026-06-25': 0.28881 },
  },
  {
    agent: 'pi',
    why: 'ccusage counts copies of a response in forks again',
    tokens: { '2026-05-12 claude-sonnet-4-5': [-61, -142, -500, -100] },
  },
  {
    agent: 'pi',
    why: 'ccusage leaves out what a compaction used',
    tokens: { '2026-05-12 claude-sonnet-4-5': [500, 60, 0, 0] },
  },
  {
    agent: 'pi',
    why: 'ccusage takes the cost that Pi reports, which is 0 in this vector; recount keeps it beside its own',
    costsUsd: { '2026-05-12': 0.00436 },
  },
  {
    agent: 'gemini',
    why: 'ccusage counts a response in the old document and again in the new lines',
    tokens: { '2026-05-12 gemini-2.5-pro': [-400, -20, -600, 0] },
    costsUsd: { '2026-05-12': -0.00108 },
  },
  {
    agent: 'gemini',
    why: 'ccusage keeps thoughts out of the output, though not out of the cost',
    tokens: { '2026-05-12 gemini-2.5-pro': [0, 30, 0, 0] },
  },
];
