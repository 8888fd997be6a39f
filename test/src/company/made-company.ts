/** A response of a made session, as its transcript has it. */
export interface Spent {
  person: number;
  session: string;
  /** Day in UTC. */
  day: string;
  model: string;
  tokensIn: number;
  tokensOut: number;
  /** The day when a transcript that has it is sent. */
  sentOn: string;
}

export const PERSON_COUNT = 40;
export const DAY_COUNT = 60;
export const TEAMS = ['Albatross', 'Bittern', 'Curlew', 'Dunlin', 'Egret', 'Fulmar'] as const;
export const LARGE = 'made-large';
export const SMALL = 'made-small';
/** Who changes to another team, and when. */
export const MOVE = { person: 3, to: 'Fulmar', dayNumber: 20 } as const;
/** The latest a session is sent. */
export const MAX_DELAY_DAYS = 12;

const DAY_MS = 86_400_000;

/** Days are texts such as `2026-11-30`, in UTC. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * DAY_MS).toISOString().slice(0, 10);

/** First day of a period that has a day. Weeks begin on Monday. */
export function toPeriodStart(period: 'day' | 'week' | 'month', day: string): string {
  if (period === 'day') return day;
  if (period === 'month') return `${day.slice(0, 7)}-01`;
  return addDays(day, -((new Date(day).getUTCDay() + 6) % 7));
}

export const toEmail = (person: number): string => `person${String(person).padStart(2, '0')}@acme.example`;
/** The name under which a person's sessions arrive. */
export const toAlias = (person: number): string => `p${String(person).padStart(2, '0')}-laptop`;
export const toRepository = (person: number): string => `github.com/acme/heron-${person % 5}`;

/** People change teams on a day, and what they used before stays with the former team. */
export const toTeam = (person: number, day: string, firstDay: string): string =>
  person === MOVE.person && day >= addDays(firstDay, MOVE.dayNumber) ? MOVE.to : (TEAMS[person % TEAMS.length] ?? '');

/**
 * Two responses of each person on five of seven days. Every ninth session is sent some days late; of every eleventh, the
 * second response is sent two days after the first, in a transcript that has grown.
 */
export function makeCompany(firstDay: string): Spent[] {
  return Array.from({ length: PERSON_COUNT }, (_, person) =>
    Array.from({ length: DAY_COUNT }, (_, number): Spent[] => {
      if ((number + person) % 7 > 4) return [];
      const day = addDays(firstDay, number);
      const seed = (person * 7919 + number * 104_729) % 1000;
      const sentOn = seed % 9 === 0 ? addDays(day, 1 + (seed % MAX_DELAY_DAYS)) : day;
      const grownOn = seed % 11 === 0 ? addDays(sentOn, 2) : sentOn;
      return [sentOn, grownOn].map((sent, index) => ({
        ...{ person, session: `made-${person}-${number}`, day, sentOn: sent, model: seed % 2 === 0 ? LARGE : SMALL },
        ...{ tokensIn: 100_000 + seed * 200 + index, tokensOut: 2000 + seed * 3 },
      }));
    }).flat(),
  ).flat();
}

/** A transcript of Claude Code with these responses. */
export function toTranscript(responses: readonly Spent[]): string {
  return responses
    .flatMap(({ session: sessionId, day, model, tokensIn, tokensOut }, index) => {
      const at = (minute: number) => `${day}T11:${String(index * 10 + minute).padStart(2, '0')}:00.000Z`;
      const envelope = (part: string) => ({ sessionId, uuid: `${sessionId}-${index}-${part}`, parentUuid: null });
      const usage = { input_tokens: tokensIn, output_tokens: tokensOut };
      const content = [{ type: 'text', text: 'Done.' }];
      const id = `msg_${sessionId}_${index}`;
      const message = { id, role: 'assistant', model, stop_reason: 'end_turn', content, usage };
      return [
        {
          ...envelope('prompt'),
          ...{ type: 'user', timestamp: at(0), cwd: '/home/made', message: { role: 'user', content: `Do ${index}` } },
        },
        {
          ...envelope('answer'),
          ...{ type: 'assistant', timestamp: at(1), cwd: '/home/made', requestId: `req_${id}`, message },
        },
      ];
    })
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}
