import { AGENTS } from '@recount/core';
import { z } from 'zod';
import { text } from './fields.ts';

const MAX_PLANS = 1000;
const MAX_NAME_LENGTH = 100;
const MAX_PERSON_LENGTH = 255;
const MAX_MONTHLY_USD = 1e6;
const MAX_SEATS = 1e6;

const planSchema = z
  .strictObject({
    name: text(MAX_NAME_LENGTH).describe('Such as `Max 20x`'),
    person: text(MAX_PERSON_LENGTH)
      .nullable()
      .default(null)
      .describe('Name or e-mail address of the person who has it, as reports show it; null for the workspace'),
    agent: z
      .enum(AGENTS.map(({ id }) => id) as [string, ...string[]])
      .nullable()
      .default(null)
      .describe('Only the use of this agent is compared with it; null for all'),
    monthly_usd: z.number().min(0).max(MAX_MONTHLY_USD).describe('Price of a seat in a month, US dollars'),
    seats: z.int().min(1).max(MAX_SEATS).default(1),
  })
  .refine(({ person, seats }) => person === null || seats === 1, { path: ['seats'], message: 'A person has one seat' })
  .meta({ id: 'Plan', description: 'A subscription of the workspace or of one person' });

export const planListSchema = z
  .strictObject({ plans: z.array(planSchema).max(MAX_PLANS) })
  .meta({ id: 'PlanList', description: 'All subscriptions of the workspace' });

export type PlanList = z.output<typeof planListSchema>;
export type Plan = PlanList['plans'][number];
/** As a client writes it. */
export type PlanListRequest = z.input<typeof planListSchema>;
