import { toLine } from '@recount/api/testing/transcript-lines';
import { createTypedCommands } from '@recount/cli/testing/typed-commands';
import type { UsageReport } from '@recount/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';
import { visit } from './visits.ts';

const executablePath = findBrowser();
const HALF_HOUR_MS = 30 * 60_000;
/** Reports by what is not in a transcript, and their pages. */
const DIMENSIONS = [
  ['team', '/people?view=team', ['Harbour', 'Quay']],
  ['cost_centre', '/people?view=cost_centre', ['CC-7', 'CC-8']],
  ['kind_of_work', '/projects?view=kind_of_work', ['coding', 'conversation']],
] as const;
type Dimension = (typeof DIMENSIONS)[number][0];
const CASES = [
  ['America/Los_Angeles', '2026-03-08', 23],
  ['America/Los_Angeles', '2025-11-02', 25],
  ['Pacific/Auckland', '2025-09-28', 23],
  ['Pacific/Auckland', '2026-04-05', 25],
  ['Asia/Kolkata', '2026-03-08', 24],
  ['UTC', '2026-03-08', 24],
  ['Europe/Berlin', '2025-11-02', 24],
] as const;
/** People whose answers are alike but for what they call: nothing, and a change of code. */
const PEOPLE = [
  { person: 'ada', team: 'Harbour', costCentre: 'CC-7' },
  { person: 'bo', team: 'Quay', costCentre: 'CC-8' },
];
const DAYS = ['2025-09-28', '2025-11-02', '2026-03-08', '2026-04-05'];

let dashboard: Dashboard;

/** An answer with a change of code. */
function toCoding(line: string): string {
  const { message, ...envelope } = JSON.parse(line) as { message: object; uuid: string };
  const input = { file_path: '/home/bo/app/src/a.ts', old_string: 'a', new_string: 'b' };
  const content = [{ type: 'tool_use', id: envelope.uuid, name: 'Edit', input }];
  return `${JSON.stringify({ ...envelope, message: { ...message, content } })}\n`;
}

const addDay = (day: string): string => new Date(Date.parse(day) + 24 * 3_600_000).toISOString().slice(0, 10);

/** An answer every half hour, from a day before to a day after the clocks change. */
function toHalfHours(sessionId: string, day: string, change = (line: string) => line): string {
  const startMs = Date.parse(day) - 24 * 3_600_000;
  const times = Array.from({ length: 3 * 48 }, (_, index) => new Date(startMs + index * HALF_HOUR_MS).toISOString());
  return times.map((timestamp, index) => change(toLine(sessionId, index * 2 + 1, { timestamp }))).join('');
}

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  for (const day of DAYS) {
    for (const { person } of PEOPLE) {
      const body = toHalfHours(`${person}-${day}`, day, person === 'bo' ? toCoding : undefined);
      await dashboard.api.upload(body, { path: `/home/${person}/.claude/projects/a/${day}.jsonl`, person });
    }
  }
  await dashboard.api.work();
  for (const { person, team, costCentre } of PEOPLE) {
    await send('/v1/teams', { name: team, cost_centre: costCentre });
    await send('/v1/people', { display_name: person, team });
  }
});
afterEach(() => dashboard?.closePages());
afterAll(() => dashboard?.close());

async function send(path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await dashboard.api.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Cost and responses of each row by its name. */
const toFigures = ({ rows }: UsageReport, dimension: Dimension): Record<string, [number | null, number]> =>
  Object.fromEntries(rows.map(({ own, ...row }) => [row[dimension], [own.cost_usd, own.responses]]));

describe.skipIf(executablePath === undefined)('figures when clocks change', () => {
  it.each(CASES)('show the day in %s on %s, of %i hours', async (timezoneId, day, hours) => {
    const page = await dashboard.open(`/?from=${day}&to=${day}&step=hour`, { timezoneId });
    await page.locator('.legend li').first().waitFor();
    const figures = await page
      .locator('.totals data')
      .evaluateAll((all) => all.map((each) => Number(each.getAttribute('value'))));
    const query = `from=${day}&to=${addDay(day)}&time_zone=${timezoneId}`;
    const { totals } = await dashboard.ask<UsageReport>(`/v1/analytics/usage?${query}&group_by=hour`);
    const { own, sessions } = totals;
    expect(figures).toEqual([
      own.cost_usd,
      sessions,
      own.responses,
      own.total_tokens,
      own.tokens_out,
      own.cache_hit_ratio,
    ]);
    // Known without the API: an answer of each person every half hour.
    expect(own.responses).toBe(PEOPLE.length * hours * 2);
    await expect.poll(() => page.locator('.bar').count()).toBe(hours);
  });

  it.each(CASES)(
    'are the same on pages, in the API and in the CLI by team, cost centre and kind of work in %s on %s',
    async (timezoneId, day, hours) => {
      const { read } = createTypedCommands(dashboard.api);
      const page = await dashboard.open('/uploads', { timezoneId });
      for (const [dimension, path, names] of DIMENSIONS) {
        const time = ['--from', day, '--to', addDay(day), '--tz', timezoneId];
        const by = ['--by', dimension.replace(/_/g, '-')];
        const printed = JSON.parse(await read('report', 'usage', ...by, ...time, '--json')) as UsageReport;
        const query = `from=${day}&to=${addDay(day)}&time_zone=${timezoneId}&group_by=${dimension}`;
        const answered = await dashboard.ask<UsageReport>(`/v1/analytics/usage?${query}`);
        await visit(dashboard, page, `${path}&from=${day}&to=${day}`, '.body [role=row]');
        const shown = await page.locator('.body [role=row]').evaluateAll((rows) =>
          rows.map((row) => {
            const values = [...row.querySelectorAll('.figure')].map((each) => Number(each.getAttribute('value')));
            return [row.querySelector('a')?.title, [values[0], values[2]]];
          }),
        );
        expect(Object.fromEntries(shown), dimension).toEqual(toFigures(answered, dimension));
        expect(toFigures(printed, dimension), dimension).toEqual(toFigures(answered, dimension));
        // Known without either: an answer every half hour.
        for (const name of names) expect(toFigures(answered, dimension)[name]?.[1], name).toBe(hours * 2);
      }
    },
  );
});
