import { describe, expect, it } from 'vitest';
import type { SessionFigures } from './read-sessions.ts';
import { arrangeSessions, formatSessions } from './session-table.ts';

function toSession(session_id: string, fields: Partial<SessionFigures> = {}): SessionFigures {
  return {
    session_id,
    is_subagent: false,
    parent_session_id: null,
    agent: 'claude-code',
    agent_id: null,
    api_response_count: 1,
    git_branch: null,
    models: [],
    duration_ms: 0,
    total_messages: 1200,
    tokens_in: 10,
    tokens_out: 2000,
    cache_read: 300_000,
    cache_write: 4000,
    cost_estimate_usd: 1.5,
    unpriced_count: 0,
    initial_prompt: `prompt of ${session_id}`,
    title: `title of ${session_id}`,
    project: '/home/ada/code/app',
    first_timestamp: null,
    last_timestamp: '2026-03-02T10:00:00.000Z',
    other_uploader_count: 0,
    tool_error_count: 0,
    api_error_count: 0,
    ...fields,
  };
}
const subagent = { is_subagent: true, agent_id: 'x' };
const layout = { timeZone: 'UTC', maxWidth: 200 };

describe('formatSessions', () => {
  it('shows rounded figures, and explains them', () => {
    const [header, line, footnote] = formatSessions({ sessions: [toSession('a')], hasMore: false }, layout);
    expect(header?.split(/ {2,}/)).toEqual([
      'ID',
      'LAST ACTIVITY',
      'PROJECT',
      'SESSION',
      'MESSAGES',
      'TOKENS',
      'ERRORS',
      'COST',
    ]);
    expect(line?.split(/ {2,}/)).toEqual([
      'a',
      '2026-03-02 10:00Z',
      'app',
      'title of a',
      '1,200',
      '306,010',
      '0',
      '$1.50',
    ]);
    expect(footnote).toContain('estimate');
  });

  it('tells a missing price from a price of 0, and marks figures that lack some', () => {
    const unpriced = toSession('a', { cost_estimate_usd: null, unpriced_count: 2 });
    const partly = toSession('b', { cost_estimate_usd: 0, unpriced_count: 1 });
    const lines = formatSessions({ sessions: [unpriced, partly], hasMore: false }, layout);
    expect(lines[1]?.endsWith('unpriced')).toBe(true);
    expect(lines[2]?.endsWith('$0.0000 +')).toBe(true);
    expect(lines.at(-1)).toContain('+ API responses without a price');
  });

  it('shows titles, and cuts long ones', () => {
    const titled = toSession('a', { title: 'A title' });
    const long = toSession('b', { title: 'word '.repeat(24) });
    const silent = toSession('c', { title: 'c', project: null, last_timestamp: null });
    const text = formatSessions({ sessions: [titled, long, silent], hasMore: true }, layout).join('\n');
    expect(text).toContain('  A title  ');
    expect(text).toMatch(/word …/);
    expect(text).toMatch(/^c +– +c {2}/m);
    expect(text).toContain('--limit');
  });

  it('fits a narrow terminal', () => {
    const sessions = [toSession('a', { title: 'word '.repeat(24) })];
    const lines = formatSessions({ sessions, hasMore: false }, { timeZone: false, maxWidth: 80 });
    for (const line of lines.slice(0, 2)) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[1]).toContain('$1.50');
  });

  it('marks sessions that another key has extended, or uploaded a different version of', () => {
    const sessions = [toSession('a'), toSession('contested', { other_uploader_count: 1 })];
    const lines = formatSessions({ sessions, hasMore: false }, layout);
    expect(lines.slice(-2)).toEqual([expect.stringContaining('name the uploaders'), '  contested']);
    const text = formatSessions({ sessions: [toSession('a')], hasMore: false }, layout).join('\n');
    expect(text).not.toContain('Another key');
  });

  it('says so if there are none', () => {
    expect(formatSessions({ sessions: [], hasMore: false }, layout)).toEqual(['No sessions yet.']);
  });
});

describe('arrangeSessions', () => {
  it('puts sub-agents below their parents, and keeps the order of the others', () => {
    const sessions = [
      toSession('p2:x', { ...subagent, parent_session_id: 'p2' }),
      toSession('p1'),
      toSession('orphan:x', { ...subagent, parent_session_id: 'orphan' }),
      toSession('p2'),
      toSession('p2:x:y', { ...subagent, parent_session_id: 'p2:x' }),
      toSession('p2:z', { ...subagent, parent_session_id: 'p2' }),
    ];
    const arranged = arrangeSessions(sessions);
    expect(arranged.map(({ session, isBelowParent }) => `${isBelowParent ? '- ' : ''}${session.session_id}`)).toEqual([
      'p1',
      'orphan:x',
      'p2',
      '- p2:x',
      '- p2:x:y',
      '- p2:z',
    ]);
    const text = formatSessions({ sessions, hasMore: false }, layout).join('\n');
    expect(text).toContain('└ title of p2:x');
    expect(text).toContain('(sub-agent) title of orphan:x');
  });

  it('loses none that name themselves or each other as parents', () => {
    const sessions = [
      toSession('self', { ...subagent, parent_session_id: 'self' }),
      toSession('a', { ...subagent, parent_session_id: 'b' }),
      toSession('b', { ...subagent, parent_session_id: 'a' }),
    ];
    expect(arrangeSessions(sessions)).toHaveLength(3);
  });
});
