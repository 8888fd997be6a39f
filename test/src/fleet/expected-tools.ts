import { isUnpriced, listOwn, type Report, toFigures, UNITS_PER_USD } from './expected-usage.ts';
import type { EventFact, FleetFacts, SessionFact, ToolCallFact } from './facts.ts';
import { countDistinct, groupItems, type Item, type Question, sum, toPercentile } from './question.ts';

const BYTES_PER_TOKEN = 4;

type Call = Item & { call: ToolCallFact };
type Happening = Item & { event: EventFact };

function findSession({ sessions }: FleetFacts, id: string): SessionFact {
  const session = sessions.find((candidate) => candidate.id === id);
  if (session === undefined) throw new Error(`no session ${id}`);
  return session;
}

const listCalls = (facts: FleetFacts): Call[] =>
  facts.toolCalls.map((call) => {
    const session = findSession(facts, call.sessionId);
    const { branch, version } = session;
    const { atMs, isSubagent, model, name: tool } = call;
    return { call, session, atMs, isSubagent, branch, version, model, tool };
  });

function toCallFigures(calls: readonly ToolCallFact[]): object {
  const results = calls.filter(({ isError }) => isError !== null);
  const errors = results.filter(({ isError }) => isError).length;
  const outputBytes = sum(calls, (call) => call.outputBytes ?? 0);
  return {
    calls: calls.length,
    sessions: countDistinct(calls, ({ sessionId }) => sessionId),
    results: results.length,
    errors,
    error_rate: results.length === 0 ? null : errors / results.length,
    denied: calls.filter(({ isDenied }) => isDenied).length,
    output_bytes: outputBytes,
    estimated_tokens: Math.round(outputBytes / BYTES_PER_TOKEN),
  };
}

function toDurations(calls: readonly ToolCallFact[]): object {
  const durations = calls.flatMap(({ durationMs }) => durationMs ?? []);
  return { duration_p50_ms: toPercentile(durations, 0.5), duration_p95_ms: toPercentile(durations, 0.95) };
}

/** Rows by `moreKeys`, and totals of the calls that have them. */
function toReport(
  facts: FleetFacts,
  question: Question,
  toRow: (calls: readonly ToolCallFact[]) => object,
  moreKeys: (call: Call) => Record<string, string | null> = () => ({}),
  isOf: (call: ToolCallFact) => boolean = () => true,
): Report {
  const calls = listCalls(facts).filter(({ call }) => isOf(call));
  const toRows = (asked: Question, keys = moreKeys): object[] =>
    [...groupItems(asked, calls, keys).values()].map(({ values, items }) => ({
      ...values,
      ...toRow(items.map(({ call }) => call)),
    }));
  return {
    rows: toRows(question),
    totals: toRows({ ...question, groupBy: [] }, () => ({}))[0] ?? toRow([]),
  };
}

export function expectTools(facts: FleetFacts, question: Question): Report {
  return toReport(facts, question, (calls) => {
    const durations = calls.flatMap(({ durationMs }) => durationMs ?? []);
    return {
      ...toCallFigures(calls),
      ...toDurations(calls),
      input_bytes: sum(calls, ({ inputBytes }) => inputBytes),
      duration_mean_ms: durations.length === 0 ? null : sum(durations, (ms) => ms) / durations.length,
      timed_calls: durations.length,
    };
  });
}

export function expectFiles(facts: FleetFacts, question: Question): Report {
  const toRow = (calls: readonly ToolCallFact[]): object => {
    const { errors, output_bytes, estimated_tokens, sessions } = toCallFigures(calls) as Record<string, number>;
    return {
      calls: calls.length,
      reads: calls.filter(({ name }) => name === 'Read').length,
      edits: calls.filter(({ name, isError }) => name !== 'Read' && isError !== true).length,
      errors,
      sessions,
      output_bytes,
      estimated_tokens,
    };
  };
  const toKeys = ({ call, session }: Call) => ({ file_path: call.filePath, project: session.project });
  const report = toReport(facts, question, toRow, toKeys, ({ filePath }) => filePath !== null);
  return { ...report, totals: { files: report.rows.length, ...report.totals } };
}

export function expectPrograms(facts: FleetFacts, question: Question): Report {
  const toRow = (calls: readonly ToolCallFact[]) => ({ ...toCallFigures(calls), ...toDurations(calls) });
  const toKeys = ({ call }: Call) => ({ program: call.program });
  const report = toReport(facts, question, toRow, toKeys, ({ program }) => program !== null);
  return { ...report, totals: { programs: report.rows.length, ...report.totals } };
}

export function expectMcpServers(facts: FleetFacts, question: Question): Report {
  const isMcp = ({ mcpServer }: ToolCallFact) => mcpServer !== null;
  const toRow = (calls: readonly ToolCallFact[]) => ({
    tools: countDistinct(calls, ({ name }) => name),
    ...toCallFigures(calls),
  });
  const { rows } = toReport(facts, question, toRow, ({ call }) => ({ mcp_server: call.mcpServer }), isMcp);
  const { totals } = toReport(facts, question, toCallFigures, undefined, isMcp);
  return { rows, totals: { mcp_servers: rows.length, ...totals } };
}

export function expectSkills(facts: FleetFacts, question: Question): Report {
  const toKeys = ({ call }: Call) => ({ skill_name: call.skill });
  const report = toReport(facts, question, toCallFigures, toKeys, ({ skill }) => skill !== null);
  return { ...report, totals: { skills: report.rows.length, ...report.totals } };
}

export function expectDenials(facts: FleetFacts, question: Question): Report {
  const toRow = (calls: readonly ToolCallFact[]) => {
    const denied = calls.filter(({ isDenied }) => isDenied);
    return {
      denied: denied.length,
      calls: calls.length,
      denial_rate: calls.length === 0 ? null : denied.length / calls.length,
      sessions: countDistinct(denied, ({ sessionId }) => sessionId),
    };
  };
  const { rows, totals } = toReport(facts, question, toRow, ({ call }) => ({ tool: call.name, program: call.program }));
  return { rows: rows.filter((row) => (row as { denied: number }).denied > 0), totals };
}

/** Sub-agents by the type named in the call that started them. */
export function expectSubagents(facts: FleetFacts): Report {
  const starts = facts.toolCalls.filter(({ name }) => name === 'Task' || name === 'Agent');
  const toParent = (sessionId: string): string => findSession(facts, sessionId).parentId ?? sessionId;
  const responses = listOwn(facts)
    .filter(({ isSubagent }) => isSubagent)
    .map(({ response }) => {
      const parent = toParent(response.sessionId);
      const start = starts.find(({ subagentSessionId }) => subagentSessionId === `${parent}:${response.agentId}`);
      return { response, parent, type: start?.subagentType ?? null };
    });
  const toRow = (calls: readonly ToolCallFact[], made: typeof responses): object => {
    const named = made.filter(({ response }) => response.agentId !== null);
    const subagents = countDistinct(named, ({ parent, response }) => `${parent} ${response.agentId}`);
    const priced = countDistinct(
      named.filter(({ response }) => !isUnpriced(response)),
      ({ parent, response }) => `${parent} ${response.agentId}`,
    );
    const figures = toFigures(made.map(({ response }) => response)) as { cost_usd: number | null };
    const units = Math.round((figures.cost_usd ?? 0) * UNITS_PER_USD);
    return {
      calls: calls.length,
      errors: calls.filter(({ isError }) => isError).length,
      denied: calls.filter(({ isDenied }) => isDenied).length,
      parents: countDistinct(calls, ({ sessionId }) => sessionId),
      subagents,
      mean_cost_usd: priced === 0 ? null : Math.round(units / priced) / UNITS_PER_USD,
      ...figures,
    };
  };
  const types = new Set([...starts.map(({ subagentType }) => subagentType), ...responses.map(({ type }) => type)]);
  const { mean_cost_usd: _, ...totals } = toRow(starts, responses) as Record<string, unknown>;
  return {
    rows: [...types].map((subagent_type) => ({
      subagent_type,
      ...toRow(
        starts.filter(({ subagentType }) => subagentType === subagent_type),
        responses.filter(({ type }) => type === subagent_type),
      ),
    })),
    totals,
  };
}

const listEvents = (facts: FleetFacts, kinds: readonly EventFact['kind'][]): Happening[] =>
  facts.events
    .filter(({ kind }) => kinds.includes(kind))
    .map((event) => {
      const session = findSession(facts, event.sessionId);
      const { atMs, isSubagent } = event;
      return { event, session, atMs, isSubagent, branch: session.branch, version: session.version };
    });

function toEventReport(
  events: readonly Happening[],
  question: Question,
  keyName: string,
  toRow: (events: readonly EventFact[]) => object,
): Report {
  const toRows = (asked: Question, keys: (item: Happening) => Record<string, string | null>): object[] =>
    [...groupItems(asked, events, keys).values()].map(({ values, items }) => ({
      ...values,
      ...toRow(items.map(({ event }) => event)),
    }));
  return {
    rows: toRows(question, ({ event }) => ({ [keyName]: event.name })),
    totals: toRows({ ...question, groupBy: [] }, () => ({}))[0] ?? toRow([]),
  };
}

export function expectCompactions(facts: FleetFacts, question: Question): Report {
  return toEventReport(listEvents(facts, ['compaction']), question, 'trigger', (events) => {
    const preTokens = events.map(({ details }) => Number(details.preTokens));
    return {
      compactions: events.length,
      sessions: countDistinct(events, ({ sessionId }) => sessionId),
      pre_tokens_p50: toPercentile(preTokens, 0.5),
      pre_tokens_max: toPercentile(preTokens, 1),
    };
  });
}

export function expectApiErrors(facts: FleetFacts, question: Question): Report {
  return toEventReport(listEvents(facts, ['api_error', 'api_retry']), question, 'error', (events) => {
    const retries = events.filter(({ kind }) => kind === 'api_retry');
    return {
      errors: events.length - retries.length,
      retries: retries.length,
      sessions: countDistinct(events, ({ sessionId }) => sessionId),
      retry_wait_ms: sum(retries, ({ details }) => Number(details.retryInMs)),
    };
  });
}
