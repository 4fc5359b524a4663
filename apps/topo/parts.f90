! Samples parts of a program with libtalea_topo, from Fortran; see parts.c.
program parts
    use talea_topo
    implicit none
    interface
        function getpid() bind(c) result(pid)
            import :: c_int
            integer(c_int) :: pid
        end function
    end interface
    type(c_ptr) :: monitors
    character(len=512), target :: file, output
    integer :: part
    integer(c_int) :: object
    real(c_double) :: total

    call get_command_argument(1, file)
    call get_command_argument(2, output)
    file = trim(file)//c_null_char
    output = trim(output)//c_null_char
    monitors = load_Monitors_from_config(c_null_ptr, c_loc(file), c_loc(output), 0_c_int)
    if (.not. c_associated(monitors)) error stop 1
    if (Monitors_watch_pid(monitors, getpid()) /= 0) error stop 2
    if (Monitors_start(monitors) /= 0) error stop 3
    do part = 0, 2
        call Monitors_set_phase(monitors, part)
        call touch(2000*part)
        if (Monitors_update_counters(monitors) /= 0) error stop 4
        total = 0
        do object = 0, Monitors_count(monitors, 0_c_int) - 1
            total = total + Monitors_value(monitors, 0_c_int, object)
        end do
        print '(a,i0,a,i0)', 'part ', part, ': ', nint(total)
    end do
    call delete_Monitors(monitors)

contains

    ! Touches memory that it has not touched before, a page of 4,096 bytes at a time.
    subroutine touch(pages)
        integer, intent(in) :: pages
        integer(1), allocatable, volatile :: memory(:)
        integer :: i
        allocate(memory(max(1, pages)*4096))
        do i = 1, pages
            memory((i - 1)*4096 + 1) = 1
        end do
    end subroutine
end program
