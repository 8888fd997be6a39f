import { describe, expect, it } from 'vitest';
import {
  auditQuerySchema,
  exportQuerySchema,
  liveEventQuerySchema,
  liveHeadersSchema,
  REPORT_SCHEMAS,
  searchQuerySchema,
  workspacePricesChangeSchema,
  workspaceSettingsChangeSchema,
} from './index.ts';

const read = (query: Record<string, unknown>) => REPORT_SCHEMAS.usage.query.safeParse(query);

describe('the query of usage', () => {
  it('fills in defaults', () => {
    expect(REPORT_SCHEMAS.usage.query.parse({})).toEqual({
      time_zone: 'UTC',
      subagents: 'include',
      group_by: ['day'],
      limit: 1000,
    });
  });

  it.each([
    '2026-01-31',
    '2026-01-31T12:15:00Z',
    '2026-01-31T12:30:00.000+05:45',
    '1900-01-01',
    '1900-01-01T00:00:00Z',
    '9999-12-31',
    '9999-12-31T23:45:00Z',
  ])('accepts %s as a moment, as written', (moment) => {
    expect(read({ from: moment, to: moment }).data).toMatchObject({ from: moment, to: moment });
  });

  it.each([
    'yesterday',
    '2026-13-01',
    '2026-01-31T12:15:00',
    '2026-01-31T12:14:00Z',
    '2026-01-31T12:15:00.001Z',
    '2026-01-31T12:15:00+00:05',
    '1899-12-31',
    '1900-01-01T00:00:00+00:15',
    '9999-12-31T23:45:00-00:15',
    '',
  ])('refuses %j as a moment', (moment) => {
    expect(read({ from: moment }).success).toBe(false);
    expect(read({ to: moment }).success).toBe(false);
  });

  it.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'America/Port-au-Prince'])(
    'accepts the time zone %s',
    (time_zone) => {
      expect(read({ time_zone }).data?.time_zone).toBe(time_zone);
    },
  );

  it.each(['CET', 'utc', '+02:00', 'Europe/Atlantis', 'Europe/Berlin ', ' Europe/Berlin', 'Europe/', '/Berlin', ''])(
    'refuses the time zone %j',
    (time_zone) => {
      expect(read({ time_zone }).success).toBe(false);
    },
  );

  it.each([
    ['', []],
    ['day', ['day']],
    ['day,model', ['day', 'model']],
    ['model, day', ['model', 'day']],
    ['session,agent_version', ['session', 'agent_version']],
  ])('reads the groups %j', (group_by, groups) => {
    expect(read({ group_by }).data?.group_by).toEqual(groups);
  });

  it.each(['dya', 'day,day', 'day, day', 'day,', ',', 'tool', 'day,tool'])('refuses the groups %j', (group_by) => {
    expect(read({ group_by }).success).toBe(false);
  });

  it('lists what it can be grouped by', () => {
    const { error } = read({ group_by: 'tool' });
    expect(error?.issues).toMatchObject([
      { path: ['group_by'], message: expect.stringContaining('hour, day, week, month, model, repository') },
    ]);
  });

  it.each([
    ['limit', '1', 1],
    ['limit', '10000', 10_000],
    ['subagents', 'only', 'only'],
  ])('takes %s=%s', (name, value, expected) => {
    expect(read({ [name]: value }).data).toMatchObject({ [name]: expected });
  });

  it.each([
    { limit: '0' },
    { limit: '10001' },
    { limit: '1.5' },
    { subagents: 'yes' },
    { agent: '' },
    { model: 'a\0b' },
    { project: 'x'.repeat(4097) },
    { projct: 'misspelt' },
  ])('refuses %j', (query) => {
    expect(read(query).success).toBe(false);
  });
});

describe('queries of other reports', () => {
  it('have their own defaults and groups', () => {
    expect(REPORT_SCHEMAS.sessions.query.parse({})).toMatchObject({
      subagents: 'exclude',
      group_by: [],
      idle_threshold_ms: 300_000,
      top: 10,
    });
    expect(REPORT_SCHEMAS.tools.query.parse({})).toMatchObject({ group_by: ['tool'], percentiles: true });
    expect(REPORT_SCHEMAS.tools.query.parse({ percentiles: 'true' }).percentiles).toBe(true);
    expect(REPORT_SCHEMAS.tools.query.parse({ percentiles: 'false' }).percentiles).toBe(false);
    expect(REPORT_SCHEMAS.files.query.parse({})).toMatchObject({ sort: 'calls' });
    const thresholds = { min_result_bytes: 40_000, min_session_cost_usd: 10 };
    expect(REPORT_SCHEMAS.findings.query.parse({})).toMatchObject(thresholds);
    expect(exportQuerySchema.parse({})).toMatchObject({ format: 'csv', time_zone: 'UTC' });
  });

  it.each([
    { idle_threshold_ms: '999' },
    { idle_threshold_ms: '86400001' },
    { top: '-1' },
    { top: '101' },
    { group_by: 'session' },
  ])('refuse %j', (query) => {
    expect(REPORT_SCHEMAS.sessions.query.safeParse(query).success).toBe(false);
  });

  it.each([{ idle_threshold_ms: '1000' }, { idle_threshold_ms: '86400000' }, { top: '0' }, { top: '100' }])(
    'take %j',
    (query) => {
      expect(REPORT_SCHEMAS.sessions.query.safeParse(query).success).toBe(true);
    },
  );
});

describe('searchQuerySchema', () => {
  it('fills in defaults, and accepts one kind or several', () => {
    expect(searchQuerySchema.parse({ q: 'a' })).toMatchObject({ mode: 'text', sort: 'relevance', limit: 20 });
    expect(searchQuerySchema.parse({ q: 'a', kind: 'prompt' }).kind).toBe('prompt');
    expect(searchQuerySchema.parse({ q: 'a', kind: ['prompt', 'answer'] }).kind).toEqual(['prompt', 'answer']);
  });

  it.each([{}, { q: '' }, { q: 'x'.repeat(1001) }, { q: 'a\0' }, { q: 'a', limit: '101' }, { q: 'a', kind: 'b' }])(
    'refuses %j',
    (query) => {
      expect(searchQuerySchema.safeParse(query).success).toBe(false);
    },
  );
});

describe('auditQuerySchema', () => {
  it('refuses the first moment beyond the range it can store, and accepts the last one within', () => {
    const isTaken = (from: string) => auditQuerySchema.safeParse({ from }).success;
    expect(['1900-01-01', '9999-12-31T23:59:59.999Z'].filter(isTaken)).toHaveLength(2);
    expect(['1899-12-31T23:59:59.999Z', '9999-12-31T23:00:00-01:00'].filter(isTaken)).toEqual([]);
  });
});

describe('live requests', () => {
  it('say by their headers whether the agent has ended', () => {
    expect(liveHeadersSchema.parse({})).toEqual({ 'recount-offset': 0, 'recount-complete': false });
    expect(liveHeadersSchema.parse({ 'recount-complete': '?1' })['recount-complete']).toBe(true);
    expect(liveHeadersSchema.parse({ 'recount-complete': '?0' })['recount-complete']).toBe(false);
  });

  it.each([
    { 'recount-complete': 'true' },
    { 'recount-offset': '-1' },
    { 'recount-offset': '1.5' },
    { 'recount-exit-code': '256' },
    { 'recount-exit-signal': 'KILL' },
    { 'recount-stream': 'x' },
  ])('are refused with the header %j', (headers) => {
    expect(liveHeadersSchema.safeParse(headers).success).toBe(false);
  });

  it('follow the events by default', () => {
    expect(liveEventQuerySchema.parse({}).follow).toBe(true);
    expect(liveEventQuerySchema.parse({ follow: 'true' }).follow).toBe(true);
    expect(liveEventQuerySchema.parse({ follow: 'false' }).follow).toBe(false);
  });
});

describe('changes of a workspace', () => {
  it('may leave out everything, and name nothing unknown', () => {
    for (const schema of [workspacePricesChangeSchema, workspaceSettingsChangeSchema]) {
      expect(schema.parse({})).toEqual({});
      expect(schema.safeParse({ unknown: 1 }).success).toBe(false);
    }
  });

  it.each(['', '   ', 'x'.repeat(17), 'a\nb'])('refuse %j as the label of a currency', (currency_label) => {
    expect(workspacePricesChangeSchema.safeParse({ currency_label }).success).toBe(false);
  });

  it('keep rows for at least a day', () => {
    expect(workspaceSettingsChangeSchema.safeParse({ rows_max_age_days: 0 }).success).toBe(false);
    expect(workspaceSettingsChangeSchema.safeParse({ rows_max_age_days: 1 }).success).toBe(true);
    expect(workspaceSettingsChangeSchema.parse({ raw_max_age_days: null })).toEqual({ raw_max_age_days: null });
  });
});
