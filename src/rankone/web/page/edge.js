// Decide away from the server, by published weights: the rule of rankone/edge.py. No dependencies; any engine.

const K = Uint32Array.from(
  [...primes(64)].map((prime) => fraction(Math.cbrt(prime))),
);
const START = [...primes(8)].map((prime) => fraction(Math.sqrt(prime)));

function fraction(value) {
  return ((value - Math.floor(value)) * 4294967296) >>> 0;
}

function* primes(count) {
  for (let number = 2; count > 0; number++) {
    let prime = true;
    for (let part = 2; part * part <= number; part++) prime &&= number % part !== 0;
    if (prime) {
      yield number;
      count--;
    }
  }
}

const turned = (word, bits) => (word >>> bits) | (word << (32 - bits));

// SHA-256 (FIPS 180-4) of a text: eight numbers of 32 bits.
export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 536870912));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const state = Int32Array.from(START);
  const w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const b = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
  }
  return Array.from(state, (word) => word >>> 0);
}

function words(version, salt, visitor, count) {
  const result = [];
  for (let block = 0; result.length < count; block++) {
    result.push(...sha256(`${block}/${version}/${salt}/${visitor}`).map((word) => word >>> 12));
  }
  return result;
}

function chosen(weights, word) {
  for (let index = 0; index < weights.length; index++) {
    word -= weights[index];
    if (word < 0) return index;
  }
  throw new Error("weights that sum to less than 1048576");
}

// What a visitor sees, as a row of the log of exposures. `kept`: what was returned at the first visit, if it is known.
export function decide(weights, visitor, kept = null) {
  const time = Date.now() / 1000;
  if (kept && weights.oldest <= kept.version && kept.version <= weights.version) {
    return { visitor, version: kept.version, levels: { ...kept.levels }, time };
  }
  const { version, salt, control, parts } = weights;
  const drawn = words(version, salt, visitor, 1 + parts.length);
  let levels = {};
  if (control && drawn[0] < control.share) {
    levels = { ...control.levels };
  } else {
    parts.forEach((part, index) => {
      const line = part.levels[chosen(part.weights, drawn[index + 1])];
      part.factors.forEach((factor, place) => (levels[factor] = line[place]));
    });
  }
  return { visitor, version, levels, time };
}
