"""Where the graph is drawn: what every layout keeps to, and how some look."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from fsshelter_py import Bolt, Grouping, Shuffle, Spout, Stream, Topology
from fsshelter_py.ui.layout import Edge, Node, layout
from tests.shapes import Letter, Number

SHUFFLE: Grouping = Shuffle.on(Number)


def graph(spouts: int, bolts: int, links: Iterable[tuple[int, int]]) -> Topology:
    """Components ``c0``, ``c1``, …, the spouts first, and a stream for each link."""
    names = [f"c{n}" for n in range(spouts + bolts)]
    return Topology(
        name="graph",
        spouts={name: Spout.run_unreliable(lambda ctx: None) for name in names[:spouts]},
        bolts={name: Bolt.run(lambda number, emit: None) for name in names[spouts:]},
        streams=tuple(Stream("Number", Number, names[a], names[b], SHUFFLE) for a, b in links),
    )


@st.composite
def graphs(draw: st.DrawFn) -> Topology:
    """Any graph without a cycle, with more than one stream between two components here and there."""
    spouts, bolts = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    links: list[tuple[int, int]] = []
    for target in range(spouts, spouts + bolts):
        sources = draw(st.lists(st.integers(0, target - 1), min_size=1, max_size=4))
        links += [(source, target) for source in sources]
    return graph(spouts, bolts, links)


def box(node: Node) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    return node.x, node.y - node.height / 2, node.x + node.width, node.y + node.height / 2


def crosses(edge: Edge, node: Node) -> bool:
    """Whether the level stretches of a line, which are those that lead past a layer, touch a box.

    The others lie between two layers, where there are no boxes.
    """
    left, top, right, bottom = box(node)
    for (x, y), (to_x, to_y) in zip(edge.points[1:-1:2], edge.points[2:-1:2], strict=True):
        assert y == to_y
        if x < right and left < to_x and top < y < bottom:
            return True
    return False


@given(graphs())
def test_every_stream_leads_to_the_right_and_past_other_boxes(topology: Topology) -> None:
    """From the side of one box to the side of the other, and between them never back."""
    drawn = layout(topology)
    nodes = {node.component: node for node in drawn.nodes}

    assert list(nodes) == [*topology.spouts, *topology.bolts]
    for edge, stream in zip(drawn.edges, topology.streams, strict=True):
        assert (edge.source, edge.target) == (stream.source, stream.target)
        _, top, right, bottom = box(nodes[edge.source])
        assert edge.points[0][0] == right
        assert top < edge.points[0][1] < bottom
        left, top, _, bottom = box(nodes[edge.target])
        assert edge.points[-1][0] == left
        assert top < edge.points[-1][1] < bottom
        assert [x for x, _ in edge.points] == sorted(x for x, _ in edge.points)
        assert not any(crosses(edge, node) for node in drawn.nodes)


@given(graphs())
def test_no_two_boxes_overlap_and_all_fit(topology: Topology) -> None:
    """Nor do two streams share a whole line."""
    drawn = layout(topology)

    for number, node in enumerate(drawn.nodes):
        left, top, right, bottom = box(node)
        assert 0 < left < right < drawn.width
        assert 0 < top < bottom < drawn.height
        for other in drawn.nodes[:number]:
            its_left, its_top, its_right, its_bottom = box(other)
            assert right < its_left or its_right < left or bottom < its_top or its_bottom < top
    assert len({edge.points for edge in drawn.edges}) == len(drawn.edges)


def test_a_chain_is_a_straight_line() -> None:
    """All at one height."""
    drawn = layout(graph(1, 3, [(0, 1), (1, 2), (2, 3)]))
    assert len({node.y for node in drawn.nodes}) == 1
    assert len({y for edge in drawn.edges for _, y in edge.points}) == 1


def test_lines_that_need_not_cross_do_not() -> None:
    """Two chains, declared crosswise."""
    drawn = layout(graph(2, 2, [(0, 3), (1, 2)]))
    y = {node.component: node.y for node in drawn.nodes}
    assert (y["c0"] < y["c1"]) == (y["c3"] < y["c2"])


def test_long_names_take_more_room_up_to_a_limit() -> None:
    """Longer ones are cut by the browser."""

    def width(name: str) -> float:
        spout = Spout.run_unreliable(lambda ctx: None)
        return layout(Topology(name="t", spouts={name: spout}, bolts={}, streams=())).width

    assert width("a") < width("a" * 15) < width("a" * 100) == width("a" * 200)


def test_what_the_page_tells_of_a_stream() -> None:
    """Its grouping, and whether it is anchored."""
    topology = graph(1, 1, [])
    stream = Stream("Letter", Letter, "c0", "c1", Shuffle.on(Letter).unanchored())
    (edge,) = layout(Topology("t", topology.spouts, topology.bolts, (stream,))).edges
    assert (edge.stream, edge.grouping, edge.anchored) == ("Letter", "shuffle", False)


def test_nothing_takes_no_room() -> None:
    """It does not fail either."""
    assert layout(Topology(name="t", spouts={}, bolts={}, streams=())).nodes == ()
