"""What a topology file uses: ``@stream``, the groupings and the ``@topology`` builder.

May import: errors, conf, model, build.
"""
