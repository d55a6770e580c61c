// Records what the npm package `ack` 0.1.0 does for random sequences of calls, for tests/test_tracking.py:
//
//     node record_ack_vectors.js PATH_OF_THE_UNPACKED_PACKAGE > ack_vectors.json
//
// The same sequences each time. A call is [method, tag, stamp in hex (not for fail), outcome], where the outcome is
// "acked" or "failed" (that event, of that tag), "error" (it threw) or "" (neither).
'use strict';
process.noDeprecation = true;
const path = require('path');
const Ack = require(path.resolve(process.argv[2]));

let state = 20130710;
function below(n) { // xorshift
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    return (state >>> 0) % n;
}
const pick = (list) => list[below(list.length)];

function sequence(length) {
    const ack = new Ack();
    let events = [];
    ack.on('acked', (tag) => events.push(['acked', tag]));
    ack.on('failed', (tag) => events.push(['failed', tag]));

    const random = (n) => Buffer.from(Array.from({length: n}, () => below(256)));
    // Few stamps and few tags, so that trees do complete, tags come again and late calls are met.
    const stamps = [random(length), random(length)];
    const folded = Buffer.from(stamps[0].map((byte, i) => byte ^ stamps[1][i]));
    const pool = [...stamps, folded, Buffer.alloc(length)];
    const tags = ['a', 'b', 'unknown'];

    return Array.from({length: 4 + below(24)}, () => {
        const method = pick(['add', 'add', 'stamp', 'stamp', 'stamp', 'stamp', 'stamp', 'stamp', 'stamp', 'fail']);
        const tag = method === 'add' ? pick(tags.slice(0, 2)) : pick(tags);
        const stamp = below(25) === 0 ? random(1 + below(16)) : pick(pool);
        events = [];
        let outcome = '';
        try {
            if (method === 'fail') ack.fail(tag); else ack[method](tag, stamp);
        } catch (error) {
            outcome = 'error';
        }
        if (events.length > 1 || (events.length && (outcome || events[0][1] !== tag))) throw new Error('not foreseen');
        outcome = events.length ? events[0][0] : outcome;
        return method === 'fail' ? [method, tag, outcome] : [method, tag, stamp.toString('hex'), outcome];
    });
}

const vectors = Array.from({length: 320}, (_, i) => sequence(1 + i % 16));
process.stdout.write('[\n' + vectors.map((calls) => JSON.stringify(calls)).join(',\n') + '\n]\n');
