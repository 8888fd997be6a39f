import type { ModelRequest, Step, Tokens } from './exchange.ts';

/** The name of a situation's step in a prompt, such as `LAB-resume-2`. */
const MARKER = /\bLAB-[a-z0-9]+(?:-[a-z0-9]+)*\b/g;
/** The form that programs ask in for a summary of the conversation, which holds the prompts and their markers. */
const ASKS_FOR_SUMMARY = /\bsummar(?:y|ies|i[sz]e)\b|\bcompact|\bcompress|<state_snapshot>|\bhandoff\b/i;

const MIN_WISH_CHARACTERS = 30;
/** Longer texts without a marker are instructions of the program's own. */
const MAX_REMARK_CHARACTERS = 300;

/** The form that programs put a summary inin place of the conversation. */
const HAS_SUMMARY =
  /^(?:this session is being continued|the conversation (?:so far|history) |another language model |previous conversation)/i;

/** Answers by the marker of the prompt; each request takes the marker's next step. */
export type Steps = Readonly<Record<string, readonly Step[]>>;

export interface Script {
  /** The marker that a request answers, and its step; both undefined if the program asks for something else. */
  next(request: ModelRequest): { marker?: string; step: Step; isSummary: boolean };
  /** Steps that no request has taken. */
  left(): string[];
}

/** Plain, so that the title of a session reads as one. */
const OWN_ANSWER: Step = { text: '{"title":"Lab session","name":"lab-session"}' };

export function createScript(steps: Steps): Script {
  const taken = new Map<string, number>();
  return {
    next(request) {
      const marker = findMarker(request);
      const known = marker === undefined ? undefined : steps[marker];
      const isSummary = marker === undefined && asksForSummary(request);
      if (marker === undefined || known === undefined) return { step: OWN_ANSWER, isSummary };
      const index = taken.get(marker) ?? 0;
      taken.set(marker, index + 1);
      const step = known[index] ?? { text: `Nothing is left to say about ${marker.toLowerCase()}.` };
      return { marker, step, isSummary: false };
    },
    left: () =>
      Object.entries(steps).flatMap(([marker, list]) => {
        const count = list.slice(taken.get(marker) ?? 0).filter(({ isOptional }) => isOptional !== true).length;
        return count > 0 ? [`${marker}: ${count}`] : [];
      }),
  };
}

/** Programs ask for titles and summaries without tools, or by a separate last message. */
function findMarker({ userTexts, offeredTools }: ModelRequest): string | undefined {
  if (offeredTools.length === 0) return undefined;
  for (const text of userTexts.toReversed()) {
    if (isWishForSummary(text)) return undefined;
    const marker = [...text.matchAll(MARKER)].at(-1)?.[0];
    if (marker !== undefined) return marker;
    if (text.length > MAX_REMARK_CHARACTERS && !isRemark(text)) return undefined;
  }
  return undefined;
}

const asksForSummary = ({ userTexts }: ModelRequest): boolean => {
  const last = userTexts.at(-1) ?? '';
  return last.length > MIN_WISH_CHARACTERS && ASKS_FOR_SUMMARY.test(last);
};

/** Tells it from a command such as `/compact`, which a program has passed on, and from notes in tags. */
const isWishForSummary = (text: string): boolean =>
  text.length > MIN_WISH_CHARACTERS && !isRemark(text) && ASKS_FOR_SUMMARY.test(text);

/** Texts that programs put beside the user's text, such as `<system-reminder>`, and summaries. */
const isRemark = (text: string): boolean => /^\s*<[a-z_:-]+>/.test(text) || HAS_SUMMARY.test(text.trimStart());

/**
 * Counts that no other answer of the run has, in classes of different lengths. A wrong figure names its answer and its
 * class.
 */
export function toTokens(number: number, wire: { hasCacheWrites: boolean; hasReasoning: boolean }): Tokens {
  return {
    input: 1_003 + 7 * number,
    cacheRead: 3_011 + 11 * number,
    cacheWrite: wire.hasCacheWrites ? 501 + 5 * number : 0,
    cacheWrite1h: wire.hasCacheWrites ? 201 + 2 * number : 0,
    output: 10_009 + 17 * number,
    reasoning: wire.hasReasoning ? 107 + 3 * number : 0,
  };
}
