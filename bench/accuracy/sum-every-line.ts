import type { PriceTable } from '@recount/core';
import { addTo, emptyFigures, type Figures } from './figures.ts';

interface Line {
  type?: string;
  timestamp?: string;
  message?: { model?: string; usage?: Record<string, number | undefined> | null } | null;
}

/** The result of a tool that adds up the usage of every assistant line. */
export function sumEveryLine(bytes: Buffer, prices: PriceTable): Figures {
  return bytes.toString('utf8').split('\n').map(toLineFigures(prices)).reduce(addTo, emptyFigures());
}

const toLineFigures =
  (prices: PriceTable) =>
  (text: string): Figures => {
    const line = parse(text);
    const usage = line?.type === 'assistant' ? line.message?.usage : undefined;
    if (!usage || line?.message?.model === '<synthetic>') return emptyFigures();
    const tokensIn = usage.input_tokens ?? 0;
    const tokensOut = usage.output_tokens ?? 0;
    const cacheRead = usage.cache_read_input_tokens ?? 0;
    const cacheWrite = usage.cache_creation_input_tokens ?? 0;
    const { costUsd } = prices.price({
      model: line?.message?.model ?? null,
      timestamp: line?.timestamp ?? null,
      usage: {
        ...{ inputTokens: tokensIn, outputTokens: tokensOut, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite },
        ...{ cacheWrite5mTokens: cacheWrite, cacheWrite1hTokens: 0, webSearchRequests: 0, webFetchRequests: 0 },
        ...{ thinkingTokens: 0, serviceTier: null, speed: null, inferenceGeo: null },
      },
    });
    return { responses: 1, tokensIn, tokensOut, cacheRead, cacheWrite, costUsd: costUsd ?? 0 };
  };

function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
