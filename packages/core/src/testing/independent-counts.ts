/** A JSON value of a transcript, unchecked. The counters below are for made-up ones alone. */
// biome-ignore lint/suspicious/noExplicitAny: the shapes come from the formats' descriptions.
type Json = any;

/**
 * An API response, found as the format's description says. It has its name, the same in every copy, and tokens that do
 * not overlap.
 */
type Counted = [name: string, input: number, cacheRead: number, cacheWrite: number, output: number];

export interface IndependentCount {
  responses: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Usage is on messages and on separate entries. OMP's `orchestration` is not part of the other classes. */
const piCounter = (lines: Json[]): Counted[] =>
  lines.flatMap(({ id, timestamp, message, usage = message?.usage }): Counted[] => {
    if (usage === undefined || usage.totalTokens === 0) return [];
    const { input = 0, cacheRead = 0, output = 0 } = usage.orchestration ?? {};
    const classes = [
      usage.input + input,
      usage.cacheRead + cacheRead,
      usage.cacheWrite,
      usage.output + output,
    ] as const;
    return [[`${id} ${timestamp}`, ...classes]];
  });

/**
 * Tasks hold counts as JSON in the text of some entries; with a protocol, input includes the cache unless it is
 * smaller. Answers of sessions have them as `metrics`, with the cache in the input unless it is smaller.
 */
const taskCounter = (entries: Json[]): Counted[] =>
  entries
    .flatMap((entry) => entry.messages ?? [entry])
    .flatMap(({ id, ts, say, text, metrics }: Json): Counted[] => {
      if (metrics !== undefined) {
        const { inputTokens, outputTokens, cacheReadTokens: read, cacheWriteTokens: written } = metrics;
        const cached = inputTokens >= read + written ? read + written : 0;
        return [[`${id} ${ts}`, inputTokens - cached, read, written, outputTokens]];
      }
      if (!['api_req_started', 'deleted_api_reqs', 'subagent_usage'].includes(say)) return [];
      const { tokensIn, tokensOut, cacheReads = 0, cacheWrites = 0, apiProtocol } = JSON.parse(text);
      if (tokensIn === undefined) return [];
      const isTotal = apiProtocol !== undefined && tokensIn >= cacheReads + cacheWrites;
      const cached = isTotal ? cacheReads + cacheWrites : 0;
      return [[String(ts), tokensIn - cached, cacheReads, cacheWrites, tokensOut]];
    });

/**
 * Counts an agent's transcripts, one function for each agent, each written only from the format's description
 * (docs/formats) and independently of the reader. A file is its lines, or its one document.
 */
const COUNTERS: Readonly<Record<string, (values: Json[]) => Counted[]>> = {
  pi: piCounter,
  omp: piCounter,
  openclaw: piCounter,
  cline: (values) => taskCounter(values.flat()),
  roo: (values) => taskCounter(values.flat()),
  'kilo-code': (values) => taskCounter(values.flat()),

  /**
   * Each step counts once, because copies share the message's time, stream lines the id. `total` says whether output
   * includes reasoning. Rows of version 2 have no steps. Messages with tokens count, and events, except for those that
   * repeat a compaction.
   */
  opencode([{ messages }, ...rest]) {
    const toCount = (name: string, { total, input, output, reasoning, cache }: Json): Counted => {
      const isApart = total === input + output + reasoning + cache.read + cache.write;
      return [name, input, cache.read, cache.write, isApart ? output + reasoning : output];
    };
    const rows = rest.flatMap(({ table, row, children = [] }) =>
      table === undefined ? [] : [{ ...JSON.parse(row.data ?? '{}'), table, id: row.id, type: row.type, children }],
    );
    const toClasses = ({ input, output, reasoning, cache }: Json) =>
      [input, cache.read, cache.write, output + reasoning] as const;
    const compactions = rows.filter(({ type, tokens }) => type === 'compaction' && tokens !== undefined);
    const isRepeated = ({ source, tokens }: Json): boolean =>
      source === 'compaction' && compactions.some((row) => String(toClasses(row.tokens)) === String(toClasses(tokens)));
    const later = rows
      .filter((row) => row.tokens !== undefined && row.table !== 'message' && !isRepeated(row))
      .map(({ id, time, tokens }): Counted => [String(time?.created ?? id), ...toClasses(tokens)]);
    const earlier = rows.flatMap(({ time, children }) =>
      children.flatMap(({ row }: Json): Counted[] => {
        const { tokens } = JSON.parse(row.data);
        return tokens === undefined ? [] : [toCount(String(time.created), tokens)];
      }),
    );
    const isStep = ({ type }: Json): boolean => type === 'step-finish';
    const printed = rest.flatMap(({ part }) =>
      part !== undefined && isStep(part) ? [toCount(part.id, part.tokens)] : [],
    );
    const kept = (messages ?? []).flatMap(({ info, parts }: Json) =>
      parts.filter(isStep).map(({ tokens }: Json, step: number) => toCount(`${info.time.created} ${step}`, tokens)),
    );
    // One file for each message, with its parts.
    const filed = rest.flatMap(({ value, children = [] }) =>
      children
        .filter((part: Json) => part.value !== undefined && isStep(part.value))
        .map((part: Json) => toCount(`${value.id} ${part.file}`, part.value.tokens)),
    );
    return [...printed, ...kept, ...filed, ...earlier, ...later];
  },

  /**
   * Records state each request, and compactions are beside them. Without records, messages state their output; the rest
   * is the last total of each run, which from 1.0.75 on continues the total before.
   */
  copilot(lines) {
    const ofCounts = (name: string, counts: Json, written: number): Counted => {
      const { inputTokens, outputTokens, cacheReadTokens: read, cacheWriteTokens: kept } = counts;
      return [name, inputTokens - read - kept, read, kept, outputTokens - written];
    };
    const compactions = lines.flatMap(({ id, data }): Counted[] =>
      data.compactionTokensUsed === undefined ? [] : [ofCounts(id, data.compactionTokensUsed, 0)],
    );
    const records = lines.filter(({ type }) => type === 'session.usage_record').map(({ data }) => data.usage);
    if (records.length > 0) return [...records.map((row): Counted => ofCounts(row.apiCallId, row, 0)), ...compactions];
    const continues = lines.some(({ data }) => Number(/^1\.0\.(\d+)/.exec(data.copilotVersion ?? '')?.[1] ?? 0) >= 75);
    const counted: Counted[] = [];
    const before = new Map<string, Counted>();
    let written = 0;
    let end: Json;
    const close = (): void => {
      for (const [model, { usage }] of Object.entries<Json>(end?.data.modelMetrics ?? {})) {
        const [id, ...now] = ofCounts(end.id, usage, 0);
        const [, ...earlier] = before.get(model) ?? ['', 0, 0, 0, 0];
        const [input = 0, read = 0, kept = 0, output = 0] = now.map((count, index) => count - (earlier[index] ?? 0));
        counted.push([id, input, read, kept, output - written]);
        if (continues) before.set(model, [id, ...now]);
      }
      end = undefined;
      written = 0;
    };
    for (const line of lines) {
      if (line.type === 'session.start' || line.type === 'session.resume') close();
      if (line.type === 'session.shutdown') end = line;
      if (line.type !== 'assistant.message') continue;
      written += line.data.outputTokens;
      counted.push([line.data.apiCallId, 0, 0, 0, line.data.outputTokens]);
    }
    close();
    return counted;
  },

  gemini: (values) =>
    values
      .flatMap((value) => value.messages ?? value)
      .flatMap(({ id, tokens }: Json): Counted[] =>
        tokens === undefined
          ? []
          : [[id, tokens.input - tokens.cached + tokens.tool, tokens.cached, 0, tokens.output + tokens.thoughts]],
      ),

  /** Ledger entries beyond the messages count too. */
  amp([{ messages, usageLedger }]) {
    const used = messages.flatMap(({ messageId, usage }: Json) => (usage === undefined ? [] : [{ messageId, usage }]));
    const known = new Set(used.map(({ messageId }: Json) => messageId));
    const rest = (usageLedger?.events ?? []).filter(({ toMessageId }: Json) => !known.has(toMessageId));
    return [
      ...used.map(({ usage }: Json): Counted => {
        const { inputTokens, outputTokens, cacheCreationInputTokens, cacheReadInputTokens } = usage;
        return [usage.timestamp, inputTokens, cacheReadInputTokens, cacheCreationInputTokens, outputTokens];
      }),
      ...rest.map(({ timestamp, tokens }: Json): Counted => [timestamp, tokens.input, 0, 0, tokens.output]),
    ];
  },

  droid: (values) =>
    values.flatMap(({ providerLockTimestamp, tokenUsage }): Counted[] => {
      if (tokenUsage === undefined) return [];
      const { inputTokens, outputTokens, cacheCreationTokens, cacheReadTokens } = tokenUsage;
      return [[providerLockTimestamp, inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens]];
    }),

  /**
   * A line directly after a response, with the same prompt count, is the same response with cumulative counts. The last
   * ones win.
   */
  qwen(lines) {
    const names = new Map<string, string>();
    return lines.flatMap((line): Counted[] => {
      const { uuid, parentUuid, usageMetadata, agentId, systemPayload, message } = line;
      const event = systemPayload?.uiEvent;
      const agent = agentId ?? /^[^#]+#([^#]+)#\d+$/.exec(event?.prompt_id)?.[1];
      const child = event ?? (agentId === undefined ? undefined : usageMetadata);
      if (agent !== undefined && child !== undefined) {
        const whole = child.input_token_count ?? child.promptTokenCount;
        const cached = child.cached_content_token_count ?? child.cachedContentTokenCount;
        return [
          [`${agent} ${whole}`, whole - cached, cached, 0, child.output_token_count ?? child.candidatesTokenCount],
        ];
      }
      if (message?.usage?.total_tokens > 0) {
        const { input_tokens: whole, cache_read_input_tokens: cached, output_tokens: written } = message.usage;
        return [[uuid, whole - cached, cached, 0, written]];
      }
      if (usageMetadata === undefined) return [];
      const { promptTokenCount, candidatesTokenCount, cachedContentTokenCount } = usageMetadata;
      const name = names.get(`${parentUuid} ${promptTokenCount}`) ?? uuid;
      names.set(`${uuid} ${promptTokenCount}`, name);
      return [[name, promptTokenCount - cachedContentTokenCount, cachedContentTokenCount, 0, candidatesTokenCount]];
    });
  },

  /** Kimi Code records every usage; steps repeat a part. Kimi CLI: statuses have it, also of sub-agents. */
  kimi: (lines) =>
    lines.flatMap(({ type, time, usage, message }): Counted[] => {
      if (type === 'usage.record') {
        return [[String(time), usage.inputOther, usage.inputCacheRead, usage.inputCacheCreation, usage.output]];
      }
      const event = message?.type === 'SubagentEvent' ? message.payload.event : message;
      const used = event?.payload?.token_usage;
      if (used === undefined) return [];
      const { input_other: other, input_cache_read: read, input_cache_creation: kept, output } = used;
      return [[event.payload.message_id, other, read, kept, output]];
    }),

  /** The ledger, or for a session without one, its totals. */
  goose(lines) {
    const [{ accumulated_input_tokens: whole, accumulated_output_tokens: written }] = lines;
    if (whole !== undefined) return [['session', whole, 0, 0, written]];
    const rows = lines.filter(({ table }) => table === 'usage_ledger').map(({ row }) => row);
    const sums = lines.flatMap(({ row }): Counted[] => {
      const cached = row?.accumulated_cache_read_tokens ?? 0;
      if (row?.accumulated_input_tokens === undefined) return [];
      return [[row.id, row.accumulated_input_tokens - cached, cached, 0, row.accumulated_output_tokens]];
    });
    if (rows.length === 0) return sums;
    return rows.map((row): Counted => {
      const { cache_read_tokens: read, cache_write_tokens: written } = row;
      return [`${row.session_id} ${row.id}`, row.input_tokens - read - written, read, written, row.output_tokens];
    });
  },

  /** LiteLLM's prompt count includes the cache, unless the cache is larger. */
  openhands: (lines) =>
    lines.flatMap(({ value }) =>
      Object.values<Json>(value?.stats?.usage_to_metrics ?? {}).flatMap(({ token_usages: usages }): Counted[] =>
        usages.map((row: Json): Counted => {
          const { prompt_tokens: prompt, cache_read_tokens: read, cache_write_tokens: written } = row;
          return [
            row.response_id,
            prompt >= read + written ? prompt - read - written : prompt,
            read,
            written,
            row.completion_tokens,
          ];
        }),
      ),
    ),
};

export const COUNTED_AGENTS: readonly string[] = Object.keys(COUNTERS);

/**
 * Counts each response of an agent's files once. Undefined for an agent whose counts are checked elsewhere, with real
 * transcripts.
 */
export function countIndependently(agent: string, files: readonly Json[][]): IndependentCount | undefined {
  const counter = COUNTERS[agent];
  if (counter === undefined) return undefined;
  const responses = new Map(files.flatMap(counter).map((counted) => [counted[0], counted]));
  const sum = (column: 1 | 2 | 3 | 4): number => [...responses.values()].reduce((total, row) => total + row[column], 0);
  return { responses: responses.size, input: sum(1), cacheRead: sum(2), cacheWrite: sum(3), output: sum(4) };
}
