import { COST_SCALE } from '../schema/column-types.ts';

/** An exact decimal, `units` divided by ten to the power of `scale`. */
export interface Decimal {
  units: bigint;
  scale: number;
}

/** The rules of src/backend/utils/adt/numeric.c: digits are in base 10,000, and quotients have at least 16 decimal ones. */
const DECIMALS_PER_DIGIT = 4;
const MIN_SIGNIFICANT_DECIMALS = 16;

/** Dollars as the whole number of 1e-10 that COPY writes for them. */
export const toCostUnits = (usd: number): number => Math.round(usd * 10 ** COST_SCALE);

export const ofUsd = (usd: number): Decimal => ({ units: BigInt(toCostUnits(usd)), scale: COST_SCALE });

export const ofInteger = (value: number): Decimal => ({ units: BigInt(value), scale: 0 });

/** The quotient that Postgres computes, rounded to as many decimals. The divisor is not 0. */
export function divide(dividend: Decimal, divisor: Decimal): Decimal {
  const scale = toQuotientScale(dividend, divisor);
  const units = dividend.units * tenTo(scale + divisor.scale - dividend.scale);
  return { units: roundQuotient(units, divisor.units), scale };
}

export function subtract(one: Decimal, other: Decimal): Decimal {
  const scale = Math.max(one.scale, other.scale);
  return { units: one.units * tenTo(scale - one.scale) - other.units * tenTo(scale - other.scale), scale };
}

/** The product with an integer, rounded to the scale of costs, in dollars. */
export function toUsd({ units, scale }: Decimal, factor: number): number {
  const product = units * BigInt(factor);
  const rounded =
    scale < COST_SCALE ? product * tenTo(COST_SCALE - scale) : roundQuotient(product, tenTo(scale - COST_SCALE));
  return Number(rounded) / 10 ** COST_SCALE;
}

const tenTo = (exponent: number): bigint => 10n ** BigInt(exponent);

/** Halves are rounded away from zero. */
function roundQuotient(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n;
  const [above, below] = [dividend < 0n ? -dividend : dividend, divisor < 0n ? -divisor : divisor];
  const quotient = (above * 2n + below) / (below * 2n);
  return isNegative ? -quotient : quotient;
}

/** As `select_div_scale`. */
function toQuotientScale(dividend: Decimal, divisor: Decimal): number {
  const [above, below] = [toFirstDigit(dividend), toFirstDigit(divisor)];
  const weight = above.weight - below.weight - (above.digit <= below.digit ? 1 : 0);
  return Math.max(MIN_SIGNIFICANT_DECIMALS - weight * DECIMALS_PER_DIGIT, dividend.scale, divisor.scale);
}

/** The first digit in base 10,000 that is not 0, and its exponent. */
function toFirstDigit({ units, scale }: Decimal): { digit: number; weight: number } {
  if (units === 0n) return { digit: 0, weight: 0 };
  const missing = (DECIMALS_PER_DIGIT - (scale % DECIMALS_PER_DIGIT)) % DECIMALS_PER_DIGIT;
  const decimals = ((units < 0n ? -units : units) * tenTo(missing)).toString();
  const digitCount = Math.ceil(decimals.length / DECIMALS_PER_DIGIT);
  return {
    digit: Number(decimals.slice(0, decimals.length - (digitCount - 1) * DECIMALS_PER_DIGIT)),
    weight: digitCount - 1 - (scale + missing) / DECIMALS_PER_DIGIT,
  };
}
