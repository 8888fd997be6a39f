import { COST_SCALE } from '../schema/column-types.ts';
import type { BinaryBuffer } from './binary-buffer.ts';

const DIGIT_BASE = 10_000;
const DECIMALS_PER_DIGIT = 4;
/** Base-10,000 digits after the point that hold COST_SCALE decimals. */
const FRACTION_DIGITS = Math.ceil(COST_SCALE / DECIMALS_PER_DIGIT);
const POSITIVE = 0x0000;
const NEGATIVE = 0x4000;

/**
 * Writes a number as binary `numeric` with COST_SCALE decimals (src/backend/utils/adt/numeric.c, numeric_recv): digits
 * in base 10,000, the first one's weight, sign, scale.
 */
export function writeNumeric(buffer: BinaryBuffer, value: number): void {
  const units = BigInt(Math.round(Math.abs(value) * 10 ** COST_SCALE));
  let rest = units * 10n ** BigInt(FRACTION_DIGITS * DECIMALS_PER_DIGIT - COST_SCALE);
  const digits: number[] = [];
  while (rest > 0n) {
    digits.unshift(Number(rest % BigInt(DIGIT_BASE)));
    rest /= BigInt(DIGIT_BASE);
  }
  buffer.writeInt32(8 + digits.length * 2);
  buffer.writeInt16(digits.length);
  buffer.writeInt16(digits.length - FRACTION_DIGITS - 1);
  buffer.writeInt16(value < 0 ? NEGATIVE : POSITIVE);
  buffer.writeInt16(COST_SCALE);
  for (const digit of digits) buffer.writeInt16(digit);
}
