import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiResponse } from '@recount/core';
import type { AgentFile, LayOut } from './agent-homes.ts';
import { runCcusage } from './ccusage.ts';
import { EXPLANATIONS, type Tokens } from './explained-differences.ts';

export interface ComparedAgent {
  agent: string;
  /** The ccusage command, with its options. */
  command: string[];
  layOut: LayOut;
  files: readonly AgentFile[];
  /** Each once, as recount counts them. */
  responses: readonly ApiResponse[];
}

/** Binary fractions summed in another order differ by less than this. */
const TOLERANCE_USD = 1e-6;
/** Explained differences are rounded. */
const EXPLAINED_TOLERANCE_USD = 0.0001;
const NO_TOKENS: Tokens = [0, 0, 0, 0];

/**
 * Prints the days and models where ccusage finds other tokens, and the days where it finds another cost, each with the
 * reason.
 *
 * @returns the number of differences that the explanations do not account for.
 */
export async function compareWithCcusage(compared: ComparedAgent): Promise<number> {
  const { agent, command, layOut, files, responses } = compared;
  const home = await mkdtemp(join(tmpdir(), 'recount-accuracy-'));
  try {
    await layOut(home, files);
    const theirs = await runCcusage(command, home);
    const ours = sumResponses(responses);
    const rows = [
      ...compareTokens(agent, ours.tokens, theirs.tokens),
      ...compareCosts(agent, ours.costsUsd, theirs.costsUsd),
    ];
    const days = new Set([...ours.tokens.keys(), ...theirs.tokens.keys()]).size;
    console.log(`\n${agent}: ${files.length} files, ${days} days and models, ${rows.length} differences`);
    console.log(`Together ${sumTokens(ours.tokens)}; ccusage ${sumTokens(theirs.tokens)}\n`);
    if (rows.length > 0) console.log('| day and model | recount | ccusage | why |\n| --- | ---: | ---: | --- |');
    for (const { label, values, whys } of rows) {
      console.log(`| ${[label, ...values, whys.join('; ') || '**not explained**'].join(' | ')} |`);
    }
    return rows.filter(({ whys }) => whys.length === 0).length;
  } finally {
    await rm(home, { recursive: true });
  }
}

function sumResponses(responses: readonly ApiResponse[]) {
  const tokens = new Map<string, Tokens>();
  const costsUsd = new Map<string, number>();
  for (const response of responses) {
    const day = response.timestamp?.slice(0, 10) ?? 'no day';
    const key = `${day} ${response.model ?? 'unknown'}`;
    const { tokens_in: input, tokens_out: output, cache_read: read, cache_write: write } = response;
    tokens.set(key, add(tokens.get(key) ?? NO_TOKENS, [input, output, read, write]));
    costsUsd.set(day, (costsUsd.get(day) ?? 0) + (response.cost_usd ?? 0));
  }
  return { tokens, costsUsd };
}

interface Row {
  label: string;
  values: [string, string];
  /** Empty if the explanations do not add up to the difference. */
  whys: string[];
}

function compareTokens(agent: string, ours: ReadonlyMap<string, Tokens>, theirs: ReadonlyMap<string, Tokens>): Row[] {
  return sortKeys(ours, theirs).flatMap((key) => {
    const [one, other] = [ours.get(key) ?? NO_TOKENS, theirs.get(key) ?? NO_TOKENS];
    if (isEqual(one, other)) return [];
    const explained = EXPLANATIONS.flatMap((each) => {
      const tokens = each.agent === agent ? each.tokens?.[key] : undefined;
      return tokens === undefined ? [] : [{ tokens, why: each.why }];
    });
    const sum = explained.reduce((total, { tokens }) => add(total, tokens), other);
    const whys = isEqual(sum, one) ? explained.map(({ why }) => why) : [];
    return [{ label: key, values: [print(one), print(other)], whys }];
  });
}

function compareCosts(agent: string, ours: ReadonlyMap<string, number>, theirs: ReadonlyMap<string, number>): Row[] {
  return sortKeys(ours, theirs).flatMap((day) => {
    const [one, other] = [ours.get(day) ?? 0, theirs.get(day) ?? 0];
    if (Math.abs(one - other) < TOLERANCE_USD) return [];
    const explained = EXPLANATIONS.flatMap((each) => {
      const costUsd = each.agent === agent ? each.costsUsd?.[day] : undefined;
      return costUsd === undefined ? [] : [{ costUsd, why: each.why }];
    });
    const sum = explained.reduce((total, { costUsd }) => total + costUsd, other);
    const whys = Math.abs(sum - one) < EXPLAINED_TOLERANCE_USD ? explained.map(({ why }) => why) : [];
    return [{ label: `${day}, cost`, values: [`$${one.toFixed(5)}`, `$${other.toFixed(5)}`], whys }];
  });
}

const sortKeys = (...maps: ReadonlyMap<string, unknown>[]): string[] =>
  [...new Set(maps.flatMap((map) => [...map.keys()]))].sort();
const add = (one: Tokens, other: Tokens): Tokens => one.map((value, index) => value + (other[index] ?? 0)) as Tokens;
const isEqual = (one: Tokens, other: Tokens): boolean => one.every((value, index) => value === other[index]);
const print = (tokens: Tokens): string => tokens.map((value) => value.toLocaleString('en')).join(' / ');
const sumTokens = (tokens: ReadonlyMap<string, Tokens>): string => print([...tokens.values()].reduce(add, NO_TOKENS));
