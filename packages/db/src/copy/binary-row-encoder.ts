import { getTableColumns, type PgTable } from '../drizzle.cjs';
import { COST_SCALE } from '../schema/column-types.ts';
import { BinaryBuffer } from './binary-buffer.ts';
import type { ChunkPool } from './chunk-pool.ts';

const DIGIT_BASE = 10_000;
const DECIMALS_PER_DIGIT = 4;
/** Base-10,000 digits after the decimal point that hold COST_SCALE decimals. */
const FRACTION_DIGITS = Math.ceil(COST_SCALE / DECIMALS_PER_DIGIT);
const POSITIVE = 0x0000;
const NEGATIVE = 0x4000;

/**
 * Writes binary `numeric` (src/backend/utils/adt/numeric.c, numeric_recv), which is digits in base 10,000, the first
 * one's weight, sign, scale. A number has COST_SCALE decimals; a text is an integer, as drizzle reads and writes it.
 */
export function writeNumeric(buffer: BinaryBuffer, value: number | string): void {
  if (typeof value === 'string') writeDecimal(buffer, BigInt(value), 0, 0);
  else {
    const units = Math.round(Math.abs(value) * 10 ** COST_SCALE);
    const scaled = BigInt(units) * 10n ** BigInt(FRACTION_DIGITS * DECIMALS_PER_DIGIT - COST_SCALE);
    writeDecimal(buffer, value < 0 ? -scaled : scaled, FRACTION_DIGITS, COST_SCALE);
  }
}

/** Writes an integer that was multiplied by 10,000 as often as `fractionDigits` says. */
function writeDecimal(buffer: BinaryBuffer, scaled: bigint, fractionDigits: number, scale: number): void {
  let rest = scaled < 0n ? -scaled : scaled;
  const digits: number[] = [];
  while (rest > 0n) {
    digits.unshift(Number(rest % BigInt(DIGIT_BASE)));
    rest /= BigInt(DIGIT_BASE);
  }
  buffer.writeInt32(8 + digits.length * 2);
  buffer.writeInt16(digits.length);
  buffer.writeInt16(digits.length - fractionDigits - 1);
  buffer.writeInt16(scaled < 0n ? NEGATIVE : POSITIVE);
  buffer.writeInt16(scale);
  for (const digit of digits) buffer.writeInt16(digit);
}

const TEXT_TYPE_ID = 25;

/**
 * Writes a `text[]` (src/backend/utils/adt/arrayfuncs.c, array_recv), which is dimensions, nulls, type, length, first
 * index, elements, which may be null.
 */
function writeTexts(buffer: BinaryBuffer, values: readonly (string | null)[]): void {
  const isEmpty = values.length === 0;
  const hasNulls = values.includes(null) ? 1 : 0;
  const elementBytes = values.reduce((sum, value) => sum + 4 + (value === null ? 0 : Buffer.byteLength(value)), 0);
  buffer.writeInt32(isEmpty ? 12 : 20 + elementBytes);
  for (const field of isEmpty ? [0, 0, TEXT_TYPE_ID] : [1, hasNulls, TEXT_TYPE_ID, values.length, 1]) {
    buffer.writeInt32(field);
  }
  for (const value of values) {
    if (value === null) buffer.writeInt32(NULL_LENGTH);
    else buffer.writeSizedText(value);
  }
}

type FieldWriter = (buffer: BinaryBuffer, value: unknown) => void;

/** Postgres counts timestamps in microseconds since 2000-01-01. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1);
const JSONB_VERSION = 1;
const NULL_LENGTH = -1;
const END_OF_ROWS = -1;
/** Signature, no flags, no extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');

/** The wire form of each column type that bulk tables use, by the column's SQL type. */
function toFieldWriter(sqlType: string): FieldWriter {
  if (sqlType === 'text[]') return (buffer, value) => writeTexts(buffer, value as readonly (string | null)[]);
  if (sqlType.startsWith('text')) return (buffer, value) => buffer.writeSizedText(value as string);
  if (sqlType.startsWith('numeric')) return (buffer, value) => writeNumeric(buffer, value as number | string);
  if (sqlType.startsWith('timestamp')) {
    return (buffer, value) => {
      buffer.writeInt32(8);
      buffer.writeInt64((toInteger(Date.parse(value as string)) - POSTGRES_EPOCH_MS) * 1000);
    };
  }
  switch (sqlType) {
    case 'boolean':
      return (buffer, value) => {
        buffer.writeInt32(1);
        buffer.writeByte(value ? 1 : 0);
      };
    case 'integer':
      return (buffer, value) => {
        buffer.writeInt32(4);
        buffer.writeInt32(toInteger(value));
      };
    case 'bigint':
      return (buffer, value) => {
        buffer.writeInt32(8);
        buffer.writeInt64(toInteger(value));
      };
    case 'jsonb':
      return (buffer, value) => buffer.writeSizedText(JSON.stringify(value), JSONB_VERSION);
    case 'smallint':
      return (buffer, value) => {
        buffer.writeInt32(2);
        buffer.writeInt16(toInteger(value));
      };
    case 'bytea':
      return (buffer, value) => {
        const bytes = value as Uint8Array;
        buffer.writeInt32(bytes.length);
        buffer.writeBytes(bytes);
      };
    default:
      throw new TypeError(`No binary encoding for column type ${sqlType}`);
  }
}

/** Rejects NaN, which buffers would write as 0, e.g. for an invalid timestamp. */
function toInteger(value: unknown): number {
  if (!Number.isInteger(value)) throw new RangeError('Not an integer');
  return value as number;
}

interface EncodedColumn {
  property: string;
  name: string;
  write: FieldWriter;
}

/** Made once for each table, as encoders are short-lived. */
const encodedColumns = new Map<PgTable, readonly EncodedColumn[]>();

function listEncodedColumns(table: PgTable): readonly EncodedColumn[] {
  const known = encodedColumns.get(table);
  if (known !== undefined) return known;
  const columns = Object.entries(getTableColumns(table)).map(([property, column]) => ({
    property,
    name: column.name,
    write: toFieldWriter(column.getSQLType()),
  }));
  encodedColumns.set(table, columns);
  return columns;
}

export interface BinaryRowEncoder<Row> {
  /** Column names, quoted, in the order of encoding. */
  columnList: string;
  /** Appends a row; missing fields are NULL. */
  encode(row: Row): void;
  /** Number of bytes waiting for `take`; 0 if there are none. */
  readonly byteLength: number;
  /**
   * The content of one COPY (the rows since the last take, with header and trailer). Once sent, it may go back to the
   * pool.
   */
  take(): Buffer[];
}

/**
 * Encodes rows for `COPY … FROM STDIN (FORMAT binary)` (PostgreSQL manual, COPY, "Binary Format"). Columns and their
 * encodings are derived from the drizzle table, so that no changed column is forgotten here.
 */
export function createBinaryRowEncoder<Table extends PgTable>(
  table: Table,
  pool: ChunkPool,
  omitted: readonly string[] = [],
): BinaryRowEncoder<Table['$inferInsert']> {
  const columns = listEncodedColumns(table).filter(({ property }) => !omitted.includes(property));
  const buffer = new BinaryBuffer(pool);
  return {
    columnList: columns.map(({ name }) => `"${name}"`).join(', '),
    encode(row) {
      if (buffer.byteLength === 0) buffer.writeBytes(HEADER);
      buffer.writeInt16(columns.length);
      const fields = row as Record<string, unknown>;
      for (const { property, write } of columns) {
        const value = fields[property];
        if (value === null || value === undefined) buffer.writeInt32(NULL_LENGTH);
        else write(buffer, value);
      }
    },
    get byteLength() {
      return buffer.byteLength;
    },
    take() {
      buffer.writeInt16(END_OF_ROWS);
      return buffer.take();
    },
  };
}
